#pragma once
// Users and groups, by name or number, looked up in the system's own tables (blocking; only while moult starts).
#include <string_view>

#include "base/result.h"
#include "master/config/config.h"
namespace moult {
inline constexpr gid_t no_group = static_cast<gid_t>(-1);

// With its primary group; a number without a passwd entry has no_group.
Result<RunAs> look_up_user(std::string_view);
Result<gid_t> look_up_group(std::string_view);
}  // namespace moult
