#pragma once
// Families of what others measure and count, made anew for each picture: what is no more there is not shown. Used by
// measured_metrics.h alone. Names are as Prometheus wants them: base units, and _total for what only rises.
#include <prometheus/metric_family.h>

#include <cstdint>
#include <span>
#include <vector>
namespace moult {
using MetricFamilies = std::vector<prometheus::MetricFamily>;
using MetricLabels = std::vector<prometheus::ClientMetric::Label>;  // of few values each: slots, states, reasons

prometheus::MetricFamily gauges(const char* name, const char* help);    // without a value yet
prometheus::MetricFamily counters(const char* name, const char* help);  // likewise
void add(prometheus::MetricFamily&, double value, MetricLabels = {});
// `counts` has one more than `bounds`: what was above the last.
prometheus::MetricFamily histogram(const char* name, const char* help, std::span<const double> bounds,
                                   std::span<const std::uint64_t> counts, double sum);

prometheus::MetricFamily gauge(const char* name, const char* help, double value);
prometheus::MetricFamily counter(const char* name, const char* help, double value);
}  // namespace moult
