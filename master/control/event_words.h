#pragma once
// Events for people: from the JSON object of an event line (docs/events.md) to one sentence. Pure; reads nothing but
// its argument, and shows '-' for whatever an event does not have. Called by `moult events`, and by report for the last
// recycles in the status.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>
namespace moult {
// "worker 2 (pid 812) was replaced: over its limit ...". An event that this version does not know is shown as it is.
std::string event_sentence(const nlohmann::json& event);
// "2026-01-02T03:04:05.678Z  worker 2 (pid 812) serves", without a newline.
std::string event_for_people(const nlohmann::json& event);
// All that this version knows, in the order of docs/events.md.
const std::vector<std::string_view>& event_names();
// What a worker that is to go waits for: "the cooldown after the last replacement". An unknown reason is itself.
std::string hold_in_words(const std::string& reason);
}  // namespace moult
