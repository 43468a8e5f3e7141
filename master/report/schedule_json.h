#pragma once
// Scheduled calls in documents: `schedule` of the status, and the answer to `moult schedule run`. Pure.
#include <nlohmann/json.hpp>
#include <string>

#include "master/sleep/ended_call.h"
namespace moult {
nlohmann::ordered_json schedule_json(const ScheduleDescription&);  // an array
std::string ended_call_json(const EndedCall&);                     // one line
}  // namespace moult
