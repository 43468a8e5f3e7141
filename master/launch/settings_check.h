#pragma once
// For --check-config: asks the user's own server whether it takes its settings, in the user's interpreter and without
// the app (worker/python/moult/settings_check.py). Needs no loop: it waits for the answer, settings_check_patience at
// most.
#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "master/launch/child_settings.h"
#include "master/launch/fork_server_settings.h"
namespace moult {
inline constexpr std::chrono::seconds settings_check_patience{30};  // a cold import of both servers takes some 2 s

// `program`: the interpreter, and moult's Python part. The error is what the server has against its settings.
Result<void> check_settings(const std::vector<std::string>& program, const ForkServerSettings&, const ChildSettings&);
}  // namespace moult
