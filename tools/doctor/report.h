#pragma once
// What doctor prints, for people and for machines. Pure.
#include <string>
#include <vector>

#include "tools/doctor/check.h"
#include "tools/event_history/history.h"
namespace moult {
std::string doctor_text(const History&, const std::vector<Check>&);  // findings first
std::string doctor_json(const History&, const std::vector<Check>&);  // one object
}  // namespace moult
