#pragma once
// What is on its way to clients, as the status and the metrics show it. Pure.
#include <prometheus/metric_family.h>

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "master/connections/delivery.h"
namespace moult {
nlohmann::ordered_json linger_json(const DeliveryDescription&);
// None, where nothing is watched (--linger-timeout 0).
void add_linger_metrics(std::vector<prometheus::MetricFamily>&, const DeliveryDescription&);
}  // namespace moult
