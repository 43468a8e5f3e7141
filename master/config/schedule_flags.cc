// The row of the flag table that says which calls moult makes to its own app.
#include "master/config/flag_types.h"
#include "master/config/schedule_entries.h"
namespace moult {
std::vector<Flag> schedule_flags() {
  return {{.name = "schedule",
           .group = FlagGroup::config,
           .type = flag_type::reads(FlagShape::json, &Config::schedule, &ScheduleConfig::calls, parse_schedule),
           .places = {Place::file}}};
}
}  // namespace moult
