#pragma once
// What the admin server answers. Pure: no socket, no clock.
//   /livez        200 while the loop turned within loop_is_alive_for
//   /readyz       200 while who calls is answered: a worker serves, or the app is asleep or waking. 503 before
//                 the first READY, while nobody serves, while callers are refused because a wake has failed, and
//                 once a stop has begun
//   /healthz      the same
//   /metrics      for Prometheus; on --admin with the token, on --health-bind for everybody
//   /status.json  the status document         } not on --health-bind, and only with the token,
//   /events       the same, as it changes     } if there is one
//   /             the page that shows it: no secret in itself, it asks its reader for the token
// The health paths tell strangers no more than one word of why.
//
// Where no token is asked for, a web page that somebody here has open could ask in his name. So what is not for
// everybody is told only to who calls us by an address or as localhost (a name may be another's, DNS rebinding), and
// not to pages of another site.
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
  std::optional<std::string_view> host = {}, fetch_site = {};
};

enum class AdminPaths { all, health_only };
struct AdminRules {
  AdminPaths paths = AdminPaths::all;
  std::string token;  // empty: none is asked for
};

// `events`: what follows has no end; the body is not looked at (status_events.h).
enum class AdminBody { whole, events };
struct AdminAnswer {
  int status;
  std::string content_type, body;
  std::string extra_header = {};  // a whole line without its end; empty: none
  AdminBody kind = AdminBody::whole;
  std::string policy = "default-src 'none'; frame-ancestors 'none'";  // Content-Security-Policy
};

struct AdminView {
  const Snapshot* snapshot;    // null: there is none yet
  Duration since_loop_turned;  // age of the heartbeat
};

bool is_for_health(std::string_view path);
AdminAnswer answer(const AdminRequest&, const AdminRules&, const AdminView&);
AdminAnswer too_busy(const std::string& why);  // 503, and when to try again

// Status line and headers, with the empty line that ends them. `reason`: of the status, "OK".
std::string answer_head(const AdminAnswer&, std::string_view reason);

// Takes as long for a wrong token as for the right one of that length.
bool token_matches(std::string_view authorization, std::string_view token);
}  // namespace moult
