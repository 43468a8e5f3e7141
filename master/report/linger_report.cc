#include "master/report/linger_report.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
namespace moult {
namespace {
using Outcomes = std::array<std::pair<const char*, std::uint64_t>, 5>;

// They sum to the lingers that have ended.
Outcomes outcomes(const LingerCounts& counts) {
  return {{{"delivered", counts.delivered},
           {"reset", counts.reset},
           {"aborted", counts.aborted},
           {"fail_closed", counts.fail_closed},
           {"unwatched", counts.undelivered}}};
}

prometheus::MetricFamily gauge(const char* name, const char* help, std::size_t value) {
  prometheus::ClientMetric metric;
  metric.gauge.value = static_cast<double>(value);
  return {name, help, prometheus::MetricType::Gauge, {metric}};
}
}  // namespace

nlohmann::ordered_json linger_json(const DeliveryDescription& d) {
  using Json = nlohmann::ordered_json;
  Json ended = Json::object();
  for (const auto& [outcome, count] : outcomes(d.counts)) ended[outcome] = count;
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

void add_linger_metrics(std::vector<prometheus::MetricFamily>& all, const DeliveryDescription& d) {
  if (d.patience == Duration::zero()) return;
  all.push_back(gauge("moult_lingers_watched", "Connections watched until all that was sent has arrived.", d.watched));
  all.push_back(gauge("moult_lingers_fail_closed",
                      "Those that take nothing and cannot be aborted: they keep the app awake.", d.fail_closed));
  prometheus::MetricFamily ended{"moult_lingers_total",
                                 "Connections watched to their end, by how it ended: delivered, reset (by the client), "
                                 "aborted (by us), fail_closed (could not be), unwatched (one too many, or the watch "
                                 "ended before).",
                                 prometheus::MetricType::Counter,
                                 {}};
  for (const auto& [outcome, count] : outcomes(d.counts)) {
    prometheus::ClientMetric metric;
    metric.label.push_back({"outcome", outcome});
    metric.counter.value = static_cast<double>(count);
    ended.metric.push_back(std::move(metric));
  }
  all.push_back(std::move(ended));
}
}  // namespace moult
