#include "master/report/admin_answer.h"

#include <algorithm>

#include "master/report/instance_state.h"
namespace moult {
namespace {
AdminAnswer text(int status, const std::string& line) { return {status, "text/plain; charset=utf-8", line + "\n"}; }

AdminAnswer livez(const AdminView& view) {
  if (view.since_loop_turned <= loop_is_alive_for) return text(200, "ok");
  return text(503, "not alive: the master's loop does not turn");
}

// Empty: ready.
std::string why_not_ready(const AdminView& view) {
  if (!view.snapshot) return "starting";
  const InstanceState state = instance_state(view.snapshot->pool);
  switch (state) {
    case InstanceState::stopping: return "stopping";
    case InstanceState::asleep: return "asleep";
    case InstanceState::booting:
    case InstanceState::serving:
    case InstanceState::reloading: break;
  }
  if (serving_workers(view.snapshot->pool) > 0) return "";
  return state == InstanceState::booting ? "booting" : "no worker serves";
}

AdminAnswer ready_or(const std::string& why_not) {
  return why_not.empty() ? text(200, "ok") : text(503, "not ready: " + why_not);
}

AdminAnswer healthz(const AdminView& view) {
  const std::string why_not = why_not_ready(view);
  return ready_or(why_not == "asleep" ? "" : why_not);
}

AdminAnswer status(const AdminView& view) {
  if (!view.snapshot) return text(503, "no status yet: moult is starting");
  return {200, "application/json", status_json(*view.snapshot) + "\n"};
}

AdminAnswer metrics(const AdminView& view) {
  if (!view.snapshot) return text(503, "no metrics yet: moult is starting");
  return {200, "text/plain; version=0.0.4; charset=utf-8", metrics_text(view.snapshot->metrics)};
}

AdminAnswer front_page(const AdminView& view) {
  if (!view.snapshot) return text(200, "moult is starting");
  const SupervisorDescription& pool = view.snapshot->pool;
  const StatusFacts& facts = view.snapshot->facts;
  return text(200, "moult " + facts.version + ", " + facts.name + ": " + std::string(name(instance_state(pool))) +
                       ", " + std::to_string(serving_workers(pool)) + " of " + std::to_string(pool.wanted) +
                       " workers serve. See /status.json and /metrics");
}
}  // namespace

bool token_matches(std::string_view authorization, std::string_view token) {
  constexpr std::string_view scheme = "bearer ";
  const bool is_bearer = authorization.size() > scheme.size() &&
                         std::ranges::equal(authorization.substr(0, scheme.size()), scheme, {}, [](char c) {
                           return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
                         });
  if (!is_bearer) return false;
  authorization.remove_prefix(scheme.size());
  if (authorization.size() != token.size()) return false;
  volatile unsigned char difference = 0;  // volatile: no early end, whatever the compiler sees
  for (std::size_t i = 0; i < token.size(); ++i)
    difference = static_cast<unsigned char>(difference | (authorization[i] ^ token[i]));
  return difference == 0;
}

AdminAnswer answer(const AdminRequest& request, const AdminRules& rules, const AdminView& view) {
  if (request.method != "GET" && request.method != "HEAD") {
    AdminAnswer refusal = text(405, "only GET and HEAD");
    refusal.extra_header = "Allow: GET, HEAD";
    return refusal;
  }
  if (request.path == "/livez") return livez(view);
  if (request.path == "/readyz") return ready_or(why_not_ready(view));
  if (request.path == "/healthz") return healthz(view);
  if (rules.paths == AdminPaths::health_only && request.path == "/metrics") return metrics(view);
  if (rules.paths == AdminPaths::health_only) return text(404, "here are /livez /readyz /healthz /metrics");
  if (!rules.token.empty() && !token_matches(request.authorization.value_or(""), rules.token)) {
    AdminAnswer refusal = text(401, "send the --admin-token: Authorization: Bearer TOKEN");
    refusal.extra_header = "WWW-Authenticate: Bearer";
    return refusal;
  }
  if (request.path == "/status.json") return status(view);
  if (request.path == "/metrics") return metrics(view);
  if (request.path == "/") return front_page(view);
  return text(404, "here are / /status.json /metrics /livez /readyz /healthz");
}
}  // namespace moult
