#pragma once
// A time zone by its name in the tz database ("Europe/Berlin", "UTC"), from the machine's zoneinfo files. Reads a file:
// only while moult starts. (libstdc++ 12 has no std::chrono::locate_zone. Abseil also reads zoneinfo files that end
// with a rule in place of a table, as zic writes them by itself.)
#include <string>

#include <absl/time/time.h>

#include "base/result.h"
namespace moult {
// The error does not repeat the name. What is no name of a zone is refused: a path, "localtime".
Result<absl::TimeZone> find_time_zone(const std::string& name);
}  // namespace moult
