#pragma once
// What is on its way to clients, as the status and the metrics show it. Pure.
#include <array>
#include <nlohmann/json_fwd.hpp>
#include <utility>

#include "master/connections/delivery.h"
namespace moult {
using LingerOutcomes = std::array<std::pair<const char*, std::uint64_t>, 5>;
LingerOutcomes linger_outcomes(const LingerCounts&);  // they sum to the lingers that have ended

nlohmann::ordered_json linger_json(const DeliveryDescription&);
}  // namespace moult
