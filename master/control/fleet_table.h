#pragma once
// `moult fleet status` for people: from the fleet's document (master/report/fleet_json.h) to lines. Pure.
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
namespace moult {
// `width`: as status_table's.
std::string fleet_table(const nlohmann::json& fleet, std::size_t width);
}  // namespace moult
