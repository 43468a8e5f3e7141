#include "master/report/linger_report.h"

#include <nlohmann/json.hpp>
namespace moult {
LingerOutcomes linger_outcomes(const LingerCounts& counts) {
  return {{{"delivered", counts.delivered},
           {"reset", counts.reset},
           {"aborted", counts.aborted},
           {"fail_closed", counts.fail_closed},
           {"unwatched", counts.undelivered}}};
}

nlohmann::ordered_json linger_json(const DeliveryDescription& d) {
  using Json = nlohmann::ordered_json;
  Json ended = Json::object();
  for (const auto& [outcome, count] : linger_outcomes(d.counts)) ended[outcome] = count;
  return {{"watched", d.watched},
          {"fail_closed", d.fail_closed},
          {"stalled", d.stalled},
          {"closing", d.closing},
          {"timeout_seconds", std::chrono::duration<double>(d.patience).count()},
          {"begun", d.counts.begun},
          {"outcomes", ended},
          {"declined", d.declined},
          {"trouble", d.trouble.empty() ? Json(nullptr) : Json(d.trouble)}};
}
}  // namespace moult
