#include "master/control/fleet_table.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
namespace moult {
namespace {
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

json fleet() {
  return json::parse(R"json({"fleet":"web","store":"redis://store:6379","tokens":1.5,"tokens_per_hour":6,"wanted":6,
    "healthy":5,"settings":{"lease_permits":1,"recycle_rate":"1/h/worker","recycle_burst":2,"min_healthy_percent":50},
    "leases":[],"instances":[{"instance":"a","state":"awake","wanted":3,"healthy":2,"heard_seconds_ago":1.2,
    "last_refusal":{"reason":"no_tokens","ago_seconds":40},"settings_differ":"--recycle-burst 5 (the fleet: 2)"}]})json");
}

TEST(FleetTable, SaysWhatTheBudgetIs) {
  EXPECT_THAT(fleet_table(fleet(), 0), HasSubstr("serving 5 of 6 wanted, at least 50 %\n"
                                                 "budget 1.5 replacements, 6 an hour, burst 2, 1 at a time\n"
                                                 "nobody is replaced now\n"));
}

TEST(FleetTable, ShowsEachInstanceWithItsLastRefusalAndItsOtherSettings) {
  EXPECT_THAT(fleet_table(fleet(), 0), HasSubstr("a               2       3     1s  awake  no_tokens 40s ago  "
                                                 "--recycle-burst 5 (the fleet: 2)\n"));
}

TEST(FleetTable, ShowsWhoIsReplacedNow) {
  json with_a_lease = fleet();
  with_a_lease["leases"] = {{{"instance", "b"}, {"held_seconds", 3.0}, {"ends_in_seconds", 117.0}}};
  EXPECT_THAT(fleet_table(with_a_lease, 0), HasSubstr("b              3s          1m57s\n"));
}

TEST(FleetTable, ShowsADashForWhateverTheDocumentDoesNotHave) {
  EXPECT_THAT(fleet_table(json::object(), 0), HasSubstr("fleet - at -"));
  EXPECT_THAT(fleet_table(json::parse(R"({"instances":[{"instance":"\u001b[2J"}]})"), 0), Not(HasSubstr("\x1b")));
}
}  // namespace
}  // namespace moult
