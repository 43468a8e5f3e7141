#pragma once
// Moments as logs write them. Pure. Used by the readers of event files and of canary files.
//
// Read are: RFC 3339 and what resembles it (2026-08-29T20:16:03.218Z, 2026-08-29 20:16:03,218, 2026/08/29 20:16:03),
// the access log's (29/Aug/2026:20:16:03 +0000), and unix time in seconds or milliseconds. Years from 1970 to 2199.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
namespace moult {
struct Moment {
  WallTime at;
  bool has_zone;  // false: it was taken as UTC
};
// The text is one moment and nothing else.
std::optional<Moment> read_moment(std::string_view);
// The first one in a line, of its first `searched_letters`. A bare number counts at the line's beginning only.
inline constexpr std::size_t searched_letters = 4096;
std::optional<Moment> find_moment(std::string_view line);
// Seconds or, from 1e11 on (the year 5138 in seconds, 1973 in milliseconds), milliseconds since 1970.
std::optional<Moment> unix_moment(double number);
}  // namespace moult
