#include "master/report/admin_server.h"

#include <arpa/inet.h>
#include <civetweb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <condition_variable>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/unique_fd.h"
#include "master/report/rate_bound.h"
#include "master/report/signals_blocked.h"
namespace moult {
namespace {
union SocketAddress {
  sockaddr_in6 v6;  // the largest is the first: {} makes all of it zero
  sockaddr_in v4;
  sockaddr any;

  bool is_ipv6() const { return any.sa_family == AF_INET6; }
  socklen_t size() const { return is_ipv6() ? sizeof v6 : sizeof v4; }
  unsigned port() const { return ntohs(is_ipv6() ? v6.sin6_port : v4.sin_port); }
  void set_port(int port) { (is_ipv6() ? v6.sin6_port : v4.sin_port) = htons(static_cast<std::uint16_t>(port)); }
};

// What civetweb's threads see.
struct Visible {
  const AdminRules rules;
  const std::shared_ptr<const SnapshotBoard> board;
  StatusEvents events{board};
  std::mutex mutex;  // of the bound
  RateBound bound{.burst = request_burst, .per_second = requests_per_second};

  bool too_many() {
    const std::lock_guard lock(mutex);
    return !bound.allows_one(std::chrono::steady_clock::now());
  }
};
}  // namespace

struct AdminServer::Shared {
  Shared(AdminRules rules, std::shared_ptr<const SnapshotBoard> board, const SocketAddress& at)
      : visible{std::move(rules), std::move(board)}, address(at) {}
  Visible visible;
  SocketAddress address;
  mg_context* civetweb = nullptr;
};

namespace {
std::string milliseconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

void send(mg_connection* connection, const AdminAnswer& answer, bool with_body) {
  std::string all = answer_head(answer, mg_get_response_code_text(connection, answer.status));
  if (with_body) all += answer.body;
  mg_write(connection, all.data(), all.size());
}

std::optional<std::string_view> header(const mg_connection* connection, const char* name) {
  const char* value = mg_get_header(connection, name);
  return value ? std::optional<std::string_view>(value) : std::nullopt;
}

AdminRequest request_of(const mg_connection* connection) {
  const mg_request_info* info = mg_get_request_info(connection);
  return {.method = info->request_method ? info->request_method : "",
          .path = info->local_uri ? info->local_uri : "",
          .authorization = header(connection, "Authorization"),
          .host = header(connection, "Host"),
          .fetch_site = header(connection, "Sec-Fetch-Site")};
}

void show_events(mg_connection* connection, const AdminAnswer& head, StatusEvents& events) {
  const StatusEvents::Place place(events);
  if (!place) return send(connection, too_busy(std::to_string(most_viewers) + " look already: try again"), true);
  send(connection, head, false);
  // civetweb gives up when the viewer takes nothing for client_patience.
  events.tell([connection](std::string_view words) {
    return mg_write(connection, words.data(), words.size()) == static_cast<int>(words.size());
  });
}

// On a civetweb thread. A number from 200 on: answered, look no further.
int handle(mg_connection* connection) {
  auto& visible = *static_cast<Visible*>(mg_get_request_info(connection)->user_data);
  const AdminRequest request = request_of(connection);
  const bool with_body = request.method != "HEAD";
  if (!is_for_health(request.path) && visible.too_many()) {
    send(connection, too_busy("too many ask: try again"), with_body);
    return 503;
  }
  const auto snapshot = visible.board->latest();
  const Duration since = std::chrono::steady_clock::now() - visible.board->loop_turned_at();
  const AdminAnswer said = answer(request, visible.rules, {snapshot.get(), since});
  if (said.kind == AdminBody::events && with_body) show_events(connection, said, visible.events);
  else send(connection, said, with_body);
  return said.status;
}

// What civetweb itself refuses: a request that is malformed, too large or too slow. Its own page is not thread-safe: it
// takes the date from gmtime().
int refuse(mg_connection* connection, int status, const char* /*message*/) {
  send(connection, {status, "text/plain; charset=utf-8", "this is no request that moult understands\n"}, true);
  return 0;  // said
}

// civetweb's own words ("cannot bind", a broken client) would go to stderr, blocking: we say what matters ourselves.
int swallow(const mg_connection*, const char*) { return 1; }

std::string address_text(const SocketAddress& at) {
  char host[INET6_ADDRSTRLEN] = "";
  if (at.is_ipv6()) {
    inet_ntop(AF_INET6, &at.v6.sin6_addr, host, sizeof host);
    return "[" + std::string(host) + "]:" + std::to_string(ntohs(at.v6.sin6_port));
  }
  inet_ntop(AF_INET, &at.v4.sin_addr, host, sizeof host);
  return std::string(host) + ":" + std::to_string(ntohs(at.v4.sin_port));
}

Result<SocketAddress> parse_address(const AdminServerOptions& options) {
  std::string host = options.host == "localhost" ? "127.0.0.1" : options.host;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  SocketAddress at{};
  const auto port = htons(static_cast<std::uint16_t>(options.port));
  if (options.port <= 65535 && inet_pton(AF_INET, host.c_str(), &at.v4.sin_addr) == 1) {
    at.v4.sin_family = AF_INET;
    at.v4.sin_port = port;
    return at;
  }
  if (options.port <= 65535 && inet_pton(AF_INET6, host.c_str(), &at.v6.sin6_addr) == 1) {
    at.v6.sin6_family = AF_INET6;
    at.v6.sin6_port = port;
    return at;
  }
  return Error{options.flag + " takes an address and a port, as in 127.0.0.1:9000; not " + options.host + ":" +
               std::to_string(options.port)};
}

// civetweb does not say why it cannot listen; the kernel does.
Error why_it_cannot_listen(const std::string& flag, const SocketAddress& at, const char* civetweb_says) {
  const std::string what = "cannot listen on " + address_text(at) + " for " + flag;
  UniqueFd fd(::socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return errno_error(what, errno);
  const int yes = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(fd.get(), &at.any, at.size()) != 0) return errno_error(what, errno);
  return {what + ": " + civetweb_says};
}

// civetweb's accepting thread looks up only every two seconds, unless somebody connects.
void knock(const SocketAddress& listening) {
  SocketAddress at = listening;
  if (at.is_ipv6() && IN6_IS_ADDR_UNSPECIFIED(&at.v6.sin6_addr)) at.v6.sin6_addr = in6addr_loopback;
  if (!at.is_ipv6() && at.v4.sin_addr.s_addr == INADDR_ANY) at.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  UniqueFd fd(::socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd) (void)::connect(fd.get(), &at.any, at.size());
}

struct MadeContext {
  mg_context* context;
  std::string error;
};

// Its threads get our mask. It ignores SIGPIPE for the whole process, as moult does (signals.h).
MadeContext make_context(const std::string& listening, Visible* user_data) {
  const bool has_viewers = user_data->rules.paths == AdminPaths::all;
  const std::string threads = std::to_string(admin_threads + (has_viewers ? most_viewers : 0)),
                    request_bytes = std::to_string(request_bytes_most), patience = milliseconds(client_patience),
                    waiting = std::to_string(waiting_connections_most);
  const char* options[] = {"listening_ports",
                           listening.c_str(),
                           "num_threads",
                           threads.c_str(),
                           "request_timeout_ms",
                           patience.c_str(),
                           "max_request_size",
                           request_bytes.c_str(),
                           "connection_queue",
                           waiting.c_str(),
                           "listen_backlog",
                           waiting.c_str(),
                           "enable_keep_alive",
                           "no",
                           "enable_directory_listing",
                           "no",
                           "access_control_allow_methods",
                           "",
                           "enable_auth_domain_check",
                           "no",
                           nullptr};
  mg_callbacks callbacks{};
  callbacks.begin_request = handle;
  callbacks.http_error = refuse;
  callbacks.log_message = swallow;
  mg_init_data init{&callbacks, user_data, options};
  unsigned code = 0;
  char text[256] = "";
  mg_error_data error{&code, text, sizeof text};
  static const unsigned initialized = mg_init_library(0);
  (void)initialized;
  const SignalsBlocked blocked;
  mg_context* context = mg_start2(&init, &error);
  return {context, text};
}
}  // namespace

Result<std::unique_ptr<AdminServer>> AdminServer::start(const AdminServerOptions& options,
                                                        std::shared_ptr<const SnapshotBoard> board) {
  auto address = parse_address(options);
  if (!address) return address.error();
  auto shared = std::make_shared<Shared>(options.rules, std::move(board), *address);
  if (address->is_ipv6() && !mg_check_feature(MG_FEATURES_IPV6))  // as Debian builds it
    return Error{"cannot listen on " + address_text(*address) + " for " + options.flag +
                 ": admin servers listen on IPv4 only, for this civetweb has no IPv6: write an IPv4 address"};
  const MadeContext made = make_context(address_text(*address), &shared->visible);
  if (!made.context) return why_it_cannot_listen(options.flag, *address, made.error.c_str());
  shared->civetweb = made.context;
  mg_server_port port{};
  if (mg_get_server_ports(made.context, 1, &port) == 1) shared->address.set_port(port.port);
  return std::unique_ptr<AdminServer>(new AdminServer(std::move(shared)));
}

AdminServer::~AdminServer() {
  shared_->visible.events.end();
  std::promise<void> stopped;
  std::future<void> is_stopped = stopped.get_future();
  try {
    const SignalsBlocked blocked;
    std::thread([shared = shared_, promise = std::move(stopped)]() mutable {
      mg_stop(shared->civetweb);
      promise.set_value();
    }).detach();
  } catch (const std::system_error&) {
    mg_stop(shared_->civetweb);  // no thread to be had: then our exit waits
    return;
  }
  const MonotonicTime end = std::chrono::steady_clock::now() + admin_farewell;
  do knock(shared_->address);  // again: the first may come before it was told to stop
  while (is_stopped.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready &&
         std::chrono::steady_clock::now() < end);
}

unsigned AdminServer::port() const { return shared_->address.port(); }
}  // namespace moult
