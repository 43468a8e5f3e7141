#include "master/report/metric_families.h"

#include <limits>
#include <utility>
namespace moult {
namespace {
prometheus::MetricFamily with(prometheus::MetricFamily family, double value) {
  add(family, value);
  return family;
}
}  // namespace

prometheus::MetricFamily gauges(const char* name, const char* help) {
  return {name, help, prometheus::MetricType::Gauge, {}};
}

prometheus::MetricFamily counters(const char* name, const char* help) {
  return {name, help, prometheus::MetricType::Counter, {}};
}

void add(prometheus::MetricFamily& family, double value, MetricLabels labels) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  (family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  family.metric.push_back(std::move(metric));
}

prometheus::MetricFamily histogram(const char* name, const char* help, std::span<const double> bounds,
                                   std::span<const std::uint64_t> counts, double sum) {
  prometheus::ClientMetric metric;
  metric.histogram.sample_sum = sum;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    metric.histogram.sample_count += counts[i];
    const double bound = i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({metric.histogram.sample_count, bound});
  }
  return {name, help, prometheus::MetricType::Histogram, {std::move(metric)}};
}

prometheus::MetricFamily gauge(const char* name, const char* help, double value) {
  return with(gauges(name, help), value);
}

prometheus::MetricFamily counter(const char* name, const char* help, double value) {
  return with(counters(name, help), value);
}
}  // namespace moult
