#pragma once
// The settings that the master gives to a fork server (docs/fork-protocol.md), as the native one needs them.
#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "worker/forked_worker.h"
namespace moult {
struct NativeSettings {
  pid_t master_pid = 0;
  std::string app;  // the path of a shared object
  enum class Preload { on, strict, off } preload = Preload::on;
  WorkerSettings worker;
};
inline constexpr std::size_t max_settings_bytes = 1024 * 1024;

// Reads the memfd from its beginning. Refused: another version, no JSON object, a missing or misshapen key, more than
// 1 MiB, and post_fork, which names a Python function.
Result<NativeSettings> read_native_settings(int fd);
}  // namespace moult
