#pragma once
// What the admin server answers. Pure: no socket, no clock.
//   /livez        200 while the loop turned within loop_is_alive_for
//   /readyz       200 while at least one worker serves and no stop has begun
//   /healthz      200 while that, or asleep: a front end may send requests
//   /metrics      for Prometheus; on --admin with the token, on --health-bind for everybody
//   /status.json  the status document         } not on --health-bind, and only with the token,
//   /             one line for people         } if there is one
// The health paths tell strangers no more than one word of why.
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "master/report/snapshot.h"
namespace moult {
// A choice: ten missed pictures. Nothing on the loop takes a tenth of that.
inline constexpr Duration loop_is_alive_for = std::chrono::seconds(10);

struct AdminRequest {
  std::string_view method, path;
  std::optional<std::string_view> authorization;  // the header's value
};

enum class AdminPaths { all, health_only };
struct AdminRules {
  AdminPaths paths = AdminPaths::all;
  std::string token;  // empty: none is asked for
};

struct AdminAnswer {
  int status;
  std::string content_type, body;
  std::string extra_header = {};  // a whole line without its end; empty: none
};

struct AdminView {
  const Snapshot* snapshot;    // null: there is none yet
  Duration since_loop_turned;  // age of the heartbeat
};

AdminAnswer answer(const AdminRequest&, const AdminRules&, const AdminView&);

// Takes as long for a wrong token as for the right one of that length.
bool token_matches(std::string_view authorization, std::string_view token);
}  // namespace moult
