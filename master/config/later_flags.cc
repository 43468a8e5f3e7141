// Flags that have their name already, so that one who writes them is told so instead of being ignored.
#include "master/config/flags.h"
namespace moult {
std::vector<Flag> flags_of_later_versions() {
  constexpr std::string_view names[] = {"sidecar-bind"};
  std::vector<Flag> rows;
  for (const auto name : names) rows.push_back({.name = name, .group = FlagGroup::later});
  return rows;
}
}  // namespace moult
