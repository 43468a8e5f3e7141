#include "master/control/fleet_table.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "master/control/text_table.h"
namespace moult {
namespace {
using nlohmann::json;

const TableShape instances_shape{.left = {0, 4, 5, 6}, .columns_at_least = 3};
const TableShape leases_shape{.left = {0}, .columns_at_least = 1};

std::string number(const json& value) {
  if (!value.is_number()) return "-";
  char shown[40];
  std::snprintf(shown, sizeof shown, "%.4g", value.get<double>());
  return shown;
}

std::string header(const json& fleet) {
  const json& rules = field(fleet, "settings");
  const json& rate = field(rules, "recycle_rate");
  return "fleet " + text(field(fleet, "fleet")) + " at " + text(field(fleet, "store")) + "  serving " +
         text(field(fleet, "healthy")) + " of " + text(field(fleet, "wanted")) + " wanted, at least " +
         number(field(rules, "min_healthy_percent")) + " %\nbudget " + number(field(fleet, "tokens")) +
         " replacements, " + (rate == "off" ? "no rate" : number(field(fleet, "tokens_per_hour")) + " an hour") +
         ", burst " + text(field(rules, "recycle_burst")) + ", " + text(field(rules, "lease_permits")) + " at a time\n";
}

std::string leases(const json& fleet, std::size_t width) {
  std::vector<TableRow> rows{{"REPLACES NOW", "FOR", "LEASE ENDS IN"}};
  for (const json& lease : field(fleet, "leases"))
    rows.push_back({text(field(lease, "instance")), duration(field(lease, "held_seconds")),
                    time_left(field(lease, "ends_in_seconds"))});
  return rows.size() > 1 ? table(rows, leases_shape, width) : "nobody is replaced now\n";
}

std::string last_refusal(const json& instance) {
  const json& refusal = field(instance, "last_refusal");
  if (!refusal.is_object()) return "-";
  return text(field(refusal, "reason")) + " " + duration(field(refusal, "ago_seconds")) + " ago";
}

std::string instances(const json& fleet, std::size_t width) {
  std::vector<TableRow> rows{{"INSTANCE", "SERVING", "WANTED", "HEARD", "STATE", "LAST REFUSAL", "OTHER SETTINGS"}};
  for (const json& each : field(fleet, "instances"))
    rows.push_back({text(field(each, "instance")), text(field(each, "healthy")), text(field(each, "wanted")),
                    duration(field(each, "heard_seconds_ago")), text(field(each, "state")), last_refusal(each),
                    text(field(each, "settings_differ"))});
  return table(rows, instances_shape, width);
}
}  // namespace

std::string fleet_table(const json& fleet, std::size_t width) {
  return header(fleet) + leases(fleet, width) + instances(fleet, width);
}
}  // namespace moult
