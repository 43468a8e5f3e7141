#include "master/config/settings.h"
namespace moult {
Settings merged(Settings stronger, Settings weaker) {
  if (stronger.contains("app") || stronger.contains("command")) {
    weaker.erase("app");
    weaker.erase("command");
  }
  stronger.merge(weaker);
  return stronger;
}

Result<void> check_one_app(const Settings& settings) {
  const auto app = settings.find("app");
  const auto command = settings.find("command");
  if (app == settings.end() || command == settings.end()) return {};
  return Error{"only one thing can be run: both " + app->second.origin + " and " + command->second.origin +
               " are given"};
}
}  // namespace moult
