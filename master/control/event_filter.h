#pragma once
// Which events `moult events` shows: those that have all that is asked for. Pure.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
namespace moult {
struct EventFilter {
  std::vector<std::string> names = {};  // any of them; empty: all
  std::optional<unsigned> slot = {}, pid = {};
  std::string reason = {};  // empty: any, or none
};
bool lets_through(const EventFilter&, const nlohmann::json& event);
// What no event has would be waited for in vain: it is refused, with what there is.
Result<void> check(const EventFilter&);
}  // namespace moult
