#include "master/config/flags.h"

#include <algorithm>
namespace moult {
const Flag* find_flag(std::string_view name) {
  const auto& all = flags();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Flag& flag) { return flag.name == name; });
  return found == all.end() ? nullptr : &*found;
}

bool may_stand_in(const Flag& flag, Place place) {
  return std::find(flag.places.begin(), flag.places.end(), place) != flag.places.end();
}

std::string variable_of(const Flag& flag) {
  std::string variable = "MOULT_";
  for (const char c : flag.name) {
    variable += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return variable;
}

std::vector<std::string_view> names_for(Place place) {
  std::vector<std::string_view> names;
  for (const Flag& flag : flags()) {
    if (may_stand_in(flag, place)) names.push_back(flag.name);
  }
  return names;
}

std::string_view title_of(FlagGroup group) {
  switch (group) {
    case FlagGroup::app: return "The app";
    case FlagGroup::listening: return "Listening";
    case FlagGroup::server: return "The HTTP server inside the workers";
    case FlagGroup::workers: return "Workers";
    case FlagGroup::recycling: return "Replacing workers";
    case FlagGroup::fleet: return "How often workers may be replaced";
    case FlagGroup::sleeping: return "Sleeping while nobody calls";
    case FlagGroup::hanging: return "Workers that hang";
    case FlagGroup::stopping: return "Stopping";
    case FlagGroup::process: return "Processes";
    case FlagGroup::logging: return "Logs";
    case FlagGroup::control: return "Looking and steering";
    case FlagGroup::config: break;
  }
  return "Configuration";
}
}  // namespace moult
