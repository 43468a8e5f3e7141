#include "master/launch/environment.h"

#include <algorithm>
#include <array>
#include <map>

namespace moult {
namespace {
constexpr std::array<std::string_view, 4> meant_for_moult{"MOULT_", "LISTEN_", "WATCHDOG_", "NOTIFY_SOCKET="};
}  // namespace

std::vector<std::string> child_environment(const char* const* parent, const std::vector<EnvironmentEntry>& added) {
  std::map<std::string, std::string, std::less<>> all;
  for (; *parent != nullptr; ++parent) {
    const std::string_view entry(*parent);
    const bool ours = std::ranges::any_of(meant_for_moult, [&](auto start) { return entry.starts_with(start); });
    const std::size_t equals = entry.find('=');
    if (!ours && equals != entry.npos) all[std::string(entry.substr(0, equals))] = entry.substr(equals + 1);
  }
  for (const auto& [name, value] : added) all[name] = value;
  std::vector<std::string> environment;
  for (const auto& [name, value] : all) environment.push_back(name + "=" + value);
  return environment;
}
}  // namespace moult
