#include "master/report/admin_answer.h"

#include <algorithm>

#include "master/report/instance_state.h"
#include "master/report/metrics.h"
#include "master/report/status_json.h"
#include "master/report/status_page.h"
namespace moult {
namespace {
AdminAnswer text(int status, const std::string& line) { return {status, "text/plain; charset=utf-8", line + "\n"}; }

AdminAnswer livez(const AdminView& view) {
  if (view.since_loop_turned <= loop_is_alive_for) return text(200, "ok");
  return text(503, "not alive: the master's loop does not turn");
}

const IdleDescription* idle_of(const AdminView& view) { return view.snapshot->idle ? &*view.snapshot->idle : nullptr; }

// Empty: ready.
std::string why_not_ready(const AdminView& view) {
  if (!view.snapshot) return "starting";
  const IdleDescription* idle = idle_of(view);
  const InstanceState state = instance_state(view.snapshot->pool, idle);
  switch (state) {
    case InstanceState::stopping: return "stopping";
    case InstanceState::asleep:  // who calls wakes it, and is answered
    case InstanceState::waking: return idle && idle->refuses_for > Duration::zero() ? "it could not be woken" : "";
    case InstanceState::booting:
    case InstanceState::serving:
    case InstanceState::reloading: break;
  }
  if (serving_workers(view.snapshot->pool) > 0) return "";
  return state == InstanceState::booting ? "booting" : "no worker serves";
}

AdminAnswer readyz(const AdminView& view) {
  const std::string why_not = why_not_ready(view);
  return why_not.empty() ? text(200, "ok") : text(503, "not ready: " + why_not);
}

AdminAnswer status(const AdminView& view) {
  if (!view.snapshot) return text(503, "no status yet: moult is starting");
  return {200, "application/json", status_json(*view.snapshot) + "\n"};
}

AdminAnswer metrics(const AdminView& view) {
  if (!view.snapshot) return text(503, "no metrics yet: moult is starting");
  return {200, "text/plain; version=0.0.4; charset=utf-8", metrics_text(view.snapshot->metrics)};
}

AdminAnswer front_page() {
  AdminAnswer page{200, "text/html; charset=utf-8", std::string(status_page)};
  page.policy = status_page_policy();
  return page;
}

AdminAnswer events() {
  AdminAnswer all{200, "text/event-stream; charset=utf-8", ""};
  all.extra_header = "X-Accel-Buffering: no";  // nginx would keep them until it has enough
  all.kind = AdminBody::events;
  return all;
}

bool equal_but_for_case(std::string_view one, std::string_view lower) {
  return std::ranges::equal(one, lower, {},
                            [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
}

// "127.0.0.1:9000", "[::1]", "localhost:9000", "LOCALHOST.".
bool is_no_other_name(std::string_view host) {
  host = host.substr(0, host.find(':', host.starts_with('[') ? host.find(']') : 0));
  return host.empty() || equal_but_for_case(host, "localhost") || equal_but_for_case(host, "localhost.") ||
         host.starts_with('[') || host.find_first_not_of("0123456789.") == host.npos;
}

std::optional<AdminAnswer> not_for_this_caller(const AdminRequest& request, const AdminRules& rules) {
  if (!rules.token.empty()) {
    if (token_matches(request.authorization.value_or(""), rules.token)) return std::nullopt;
    AdminAnswer refusal = text(401, "send the --admin-token: Authorization: Bearer TOKEN");
    refusal.extra_header = "WWW-Authenticate: Bearer";
    return refusal;
  }
  if (!is_no_other_name(request.host.value_or("")))
    return text(403, "call this moult by its address, as in http://127.0.0.1, or set --admin-token");
  const std::string_view site = request.fetch_site.value_or("none");
  if (site == "none" || site == "same-origin") return std::nullopt;
  return text(403, "this is not told to pages of other sites");
}
}  // namespace

AdminAnswer too_busy(const std::string& why) {
  AdminAnswer refusal = text(503, why);
  refusal.extra_header = "Retry-After: 1";
  return refusal;
}

std::string answer_head(const AdminAnswer& answer, std::string_view reason) {
  std::string head = "HTTP/1.1 " + std::to_string(answer.status) + " ";
  head.append(reason);
  head += "\r\nContent-Type: " + answer.content_type;
  if (answer.kind == AdminBody::whole) head += "\r\nContent-Length: " + std::to_string(answer.body.size());
  head +=
      "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY"
      "\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin"
      "\r\nCross-Origin-Opener-Policy: same-origin\r\nContent-Security-Policy: " +
      answer.policy + "\r\nConnection: close\r\n";
  if (!answer.extra_header.empty()) head += answer.extra_header + "\r\n";
  return head + "\r\n";
}

bool token_matches(std::string_view authorization, std::string_view token) {
  constexpr std::string_view scheme = "bearer ";
  const bool is_bearer =
      authorization.size() > scheme.size() && equal_but_for_case(authorization.substr(0, scheme.size()), scheme);
  if (!is_bearer) return false;
  authorization.remove_prefix(scheme.size());
  if (authorization.size() != token.size()) return false;
  volatile unsigned char difference = 0;  // volatile: no early end, whatever the compiler sees
  for (std::size_t i = 0; i < token.size(); ++i)
    difference = static_cast<unsigned char>(difference | (authorization[i] ^ token[i]));
  return difference == 0;
}

bool is_for_health(std::string_view path) { return path == "/livez" || path == "/readyz" || path == "/healthz"; }

AdminAnswer answer(const AdminRequest& request, const AdminRules& rules, const AdminView& view) {
  if (request.method != "GET" && request.method != "HEAD") {
    AdminAnswer refusal = text(405, "only GET and HEAD");
    refusal.extra_header = "Allow: GET, HEAD";
    return refusal;
  }
  if (request.path == "/livez") return livez(view);
  if (request.path == "/readyz" || request.path == "/healthz") return readyz(view);
  if (rules.paths == AdminPaths::health_only && request.path == "/metrics") return metrics(view);
  if (rules.paths == AdminPaths::health_only) return text(404, "here are /livez /readyz /healthz /metrics");
  if (request.path == "/") return front_page();
  if (auto refusal = not_for_this_caller(request, rules)) return *refusal;
  if (request.path == "/status.json") return status(view);
  if (request.path == "/metrics") return metrics(view);
  if (request.path == "/events") return events();
  return text(404, "here are / /events /status.json /metrics /livez /readyz /healthz");
}
}  // namespace moult
