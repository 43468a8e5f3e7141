#pragma once
// What correlate prints, for people and for machines. Pure.
#include <string>

#include "tools/correlate/canary.h"
#include "tools/correlate/correlation.h"
#include "tools/correlate/timeline.h"
#include "tools/event_history/history.h"
namespace moult {
struct Findings {
  const History& history;
  const Canary& canary;
  const Correlation& correlation;
  const Timeline& timeline;
};
std::string correlate_text(const Findings&);
std::string correlate_json(const Findings&);  // one object
}  // namespace moult
