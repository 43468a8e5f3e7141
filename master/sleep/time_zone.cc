#include "master/sleep/time_zone.h"

#include <algorithm>
namespace moult {
namespace {
constexpr std::size_t longest_zone_name = 64;  // a choice: the longest there is has 32 letters

bool may_be_a_zone(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '_' ||
           c == '-' || c == '+';
  };
  return !name.empty() && name.size() <= longest_zone_name && name.front() >= 'A' && name.front() <= 'Z' &&
         std::ranges::all_of(name, fits);
}
}  // namespace

Result<absl::TimeZone> find_time_zone(const std::string& name) {
  absl::TimeZone zone;
  if (may_be_a_zone(name) && absl::LoadTimeZone(name, &zone)) return zone;
  return Error{"is not a time zone that this machine knows: Europe/Berlin, UTC (they come with the package tzdata)"};
}
}  // namespace moult
