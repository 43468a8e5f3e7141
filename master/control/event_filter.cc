#include "master/control/event_filter.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/worker_limits.h"
#include "master/control/event_words.h"
#include "master/control/text_table.h"
#include "recycler/reason.h"
namespace moult {
namespace {
constexpr std::array causes{Cause::limit,        Cause::hard_limit,   Cause::pressure,
                            Cause::max_requests, Cause::max_lifetime, Cause::operator_request};
constexpr std::array holds{HoldReason::second_reading,  HoldReason::cooldown,         HoldReason::busy,
                           HoldReason::nothing_to_free, HoldReason::pressure_futile,  HoldReason::turn_in_hand,
                           HoldReason::boot_failing,    HoldReason::lease_held,       HoldReason::no_tokens,
                           HoldReason::below_minimum,   HoldReason::store_unreachable};
// Those of `slept` and `stop_failed` (sleep_observer.h), but for operator, which is a cause too.
constexpr std::array sleeps{"idle", "failed_wake"};

std::vector<std::string_view> event_reasons() {
  std::vector<std::string_view> all;
  for (const Cause cause : causes) all.push_back(name(cause));
  for (const HoldReason hold : holds) all.push_back(name(hold));
  all.insert(all.end(), sleeps.begin(), sleeps.end());
  return all;
}

Result<void> check_is_one_of(const std::vector<std::string_view>& known, const std::string& given, const char* lacks) {
  if (std::ranges::find(known, given) != known.end()) return {};
  std::string all;
  for (const auto each : known) all += (all.empty() ? "" : " ") + std::string(each);
  return Error{lacks + (" '" + given.substr(0, 40)) + "'; there are " + all};
}
}  // namespace
using nlohmann::json;

bool lets_through(const EventFilter& filter, const json& event) {
  const auto is = [&event](const char* key, const auto& wanted) { return field(event, key) == json(wanted); };
  const bool named = filter.names.empty() ||
                     std::ranges::any_of(filter.names, [&](const std::string& name) { return is("event", name); });
  return named && (!filter.slot || is("slot", *filter.slot)) && (!filter.pid || is("pid", *filter.pid)) &&
         (filter.reason.empty() || is("reason", filter.reason));
}

Result<void> check(const EventFilter& filter) {
  for (const std::string& name : filter.names)
    if (auto known = check_is_one_of(event_names(), name, "no event is called"); !known) return known;
  if (!filter.reason.empty())
    if (auto known = check_is_one_of(event_reasons(), filter.reason, "no event has the reason"); !known) return known;
  if (filter.slot && *filter.slot >= most_workers)
    return Error{"--slot is from 0 to " + std::to_string(most_workers - 1)};
  if (filter.pid == 0u) return Error{"--pid is 1 or more"};
  return {};
}
}  // namespace moult
