#include "master/control/event_filter.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "master/control/event_words.h"
#include "master/control/text_table.h"
namespace moult {
using nlohmann::json;

bool lets_through(const EventFilter& filter, const json& event) {
  const auto is = [&event](const char* key, const auto& wanted) { return field(event, key) == json(wanted); };
  const bool named = filter.names.empty() ||
                     std::ranges::any_of(filter.names, [&](const std::string& name) { return is("event", name); });
  return named && (!filter.slot || is("slot", *filter.slot)) && (!filter.pid || is("pid", *filter.pid)) &&
         (filter.reason.empty() || is("reason", filter.reason));
}

Result<void> check(const EventFilter& filter) {
  const auto& known = event_names();
  for (const std::string& name : filter.names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    std::string all;
    for (const auto each : known) all += (all.empty() ? "" : " ") + std::string(each);
    return Error{"no event is called '" + name.substr(0, 40) + "'; there are " + all};
  }
  return {};
}
}  // namespace moult
