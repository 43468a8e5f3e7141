#include "master/report/schedule_json.h"

#include "master/report/seconds.h"
#include "master/report/timestamp.h"
namespace moult {
namespace {
using Json = nlohmann::ordered_json;

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json call_json(const ScheduledCallDescription& call) {
  Json json{{"name", call.name},
            {"when", call.when},
            {"method", call.method},
            {"path", call.path},
            {"scope", call.scope == Scope::fleet ? "fleet" : "instance"},
            {"timeout_seconds", seconds(call.timeout)},
            {"state", name_of(call.state)},
            {"next_at", call.next_at ? Json(rfc3339(*call.next_at)) : Json(nullptr)},
            {"last_status", or_null(call.last_status)},
            {"last_due", call.last ? Json(rfc3339(call.last->due)) : Json(nullptr)},
            {"last_outcome", call.last ? Json(name(call.last->outcome)) : Json(nullptr)},
            {"last_duration_seconds", call.last ? Json(seconds(call.last->took)) : Json(nullptr)}};
  if (!call.holds_awake) return json;
  json["holds_awake"] = *call.holds_awake;
  json["holds_awake_words"] = call.holds_awake_words;
  return json;
}
}  // namespace

Json schedule_json(const ScheduleDescription& schedule) {
  Json list = Json::array();
  for (const ScheduledCallDescription& each : schedule.calls) list.push_back(call_json(each));
  return list;
}

std::string ended_call_json(const EndedCall& call) {
  return Json{{"name", call.name},
              {"due", rfc3339(call.due)},
              {"outcome", name(call.outcome)},
              {"status", or_null(call.status)},
              {"duration_seconds", seconds(call.took)},
              {"why", call.why}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}
}  // namespace moult
