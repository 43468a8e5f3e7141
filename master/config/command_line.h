#pragma once
// The arguments of `moult run`, as settings. Pure.
#include <string>
#include <vector>

#include "base/result.h"
#include "master/config/settings.h"
namespace moult {
// `arguments` are those after `run`. Unknown flags are refused with the nearest right one, flags of later versions by
// name. `--no-preload` is the setting `preload`, the positional argument `app`, what follows `--` is `command`.
Result<Settings> read_command_line(const std::vector<std::string>& arguments);
}  // namespace moult
