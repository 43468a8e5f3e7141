#include "hello_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <utility>
#include <vector>
namespace example {
namespace {
using Caller = moult::WorkerContext::Caller;

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t seconds_setting(const moult::WorkerContext& context, const char* name, double otherwise) {
  const char* text = context.setting(name);
  const double seconds = text != nullptr ? std::strtod(text, nullptr) : otherwise;
  return static_cast<std::uint64_t>(std::clamp(seconds, 0.0, 1e6) * 1e9);
}
// Between two requests, as far as this server knows.
bool is_idle(const auto& connection) {
  return !connection.request && connection.out.empty() && connection.in.empty() && !connection.closing;
}

// A request may have arrived that the loop has not seen yet.
bool has_unread(int fd) {
  char byte;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}
}  // namespace

HelloServer::HelloServer(moult::WorkerContext& context, Handler handler)
    : context_(context), handler_(handler), epoll_fd_(::epoll_create1(EPOLL_CLOEXEC)) {
  keep_alive_ns_ = seconds_setting(context, "keep_alive_seconds", 75);
  // A quarter of the time after which a silent worker is killed, but never a busy loop and at most every second.
  heartbeat_ns_ =
      std::clamp<std::uint64_t>(seconds_setting(context, "timeout_seconds", 30) / 4, 10'000'000, 1'000'000'000);
  for (std::size_t i = 0; i < context.listener_count(); ++i) listeners_[context.listener(i).fd] = Caller::visitor;
  if (context.internal_fd() >= 0) listeners_[context.internal_fd()] = Caller::schedule;
  if (context.api_version() >= 3 && context.sidecar_fd() >= 0) listeners_[context.sidecar_fd()] = Caller::sidecar;
  for (const auto& [fd, caller] : listeners_) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  watch(context.channel_fd(), EPOLLIN, EPOLL_CTL_ADD);
}

HelloServer::~HelloServer() {
  for (const auto& [fd, connection] : connections_) ::close(fd);
  ::close(epoll_fd_);
}

int HelloServer::run() {
  accept_all(true);
  context_.take_connections(true);
  context_.ready(moult::WorkerDrain::handover);
  std::array<epoll_event, 64> events;
  while (!master_gone_ && now_ns() < deadline_ns_) {
    if (retiring_ && connections_.empty() && context_.unsettled() == 0) break;
    watch(context_.channel_fd(), static_cast<std::uint32_t>(context_.channel_events()), EPOLL_CTL_MOD);
    const int count = ::epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), wait_milliseconds());
    if (count < 0 && errno != EINTR) return 1;
    context_.heartbeat();
    for (const epoll_event& event : std::span(events).first(static_cast<std::size_t>(std::max(count, 0))))
      handle(event);
    timers();
    const auto is_counted = [](const auto& each) { return each.second.caller != Caller::sidecar; };
    context_.connections(static_cast<std::size_t>(std::ranges::count_if(connections_, is_counted)), 0);
  }
  return 0;
}

void HelloServer::watch(int fd, std::uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  ::epoll_ctl(epoll_fd_, operation, fd, &event);
}

// Without EPOLLEXCLUSIVE each new connection would wake every worker.
void HelloServer::accept_all(bool accepting) {
  if (accepting_ == accepting) return;
  accepting_ = accepting;
  for (const auto& [fd, caller] : listeners_)
    watch(fd, EPOLLIN | EPOLLEXCLUSIVE, accepting ? EPOLL_CTL_ADD : EPOLL_CTL_DEL);
}

void HelloServer::accept_from(int listener, Caller caller) {
  while (connections_.size() < max_connections) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd < 0 && errno == EAGAIN) return;
    if (fd < 0) break;
    welcome(fd, caller);
  }
  accept_all(false);  // no room, or no descriptor: timers() tries again
}

void HelloServer::welcome(int fd, Caller caller) {
  Connection& connection = connections_[fd];
  connection.fd = fd;
  connection.caller = caller;
  connection.close_at_ns = now_ns() + keep_alive_ns_;
  watch(fd, EPOLLIN, EPOLL_CTL_ADD);
}

void HelloServer::handle(const epoll_event& event) {
  const int fd = event.data.fd;
  if (fd == context_.channel_fd()) return hear_the_master();
  // One that was in the same batch may have taken the listeners out, or closed this connection.
  if (const auto listener = listeners_.find(fd); listener != listeners_.end()) {
    if (accepting_) accept_from(fd, listener->second);
    return;
  }
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  if (event.events & (EPOLLERR | EPOLLHUP)) return close_now(fd);
  if (event.events & EPOLLIN) return read_from(found->second);
  advance(found->second);
}

void HelloServer::read_from(Connection& connection) {
  std::array<char, 64 * 1024> bytes;
  const ssize_t count = ::recv(connection.fd, bytes.data(), bytes.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return close_now(connection.fd);
  if (connection.closing) return;  // read and forgotten: unread bytes at close would turn our answer into a reset
  connection.in.append(bytes.data(), static_cast<std::size_t>(count));
  advance(connection);
}

// Does what can be done now: sends, ends the request, begins the next.
void HelloServer::advance(Connection& connection) {
  while (!connection.closing && connection.answer_at_ns == 0) {
    if (!connection.out.empty()) {
      const ssize_t count = ::send(connection.fd, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
      if (count < 0 && errno == EAGAIN) return watch(connection.fd, EPOLLOUT, EPOLL_CTL_MOD);
      if (count < 0) return close_now(connection.fd);
      connection.out.erase(0, static_cast<std::size_t>(count));
      continue;
    }
    if (connection.request || !connection.keep_alive) end_request(connection);
    if (!connection.keep_alive) return close_gently(connection);
    if (retiring_ && connection.in.empty() && !stays(connection)) return leave(connection);
    auto next = take_request(connection.in);
    if (std::holds_alternative<Incomplete>(next)) return watch(connection.fd, EPOLLIN, EPOLL_CTL_MOD);
    if (const auto* bad = std::get_if<BadRequest>(&next)) {
      connection.keep_alive = false;
      connection.out = response(bad->status, "", false);
    } else {
      begin_request(connection, std::get<HttpRequest>(next));
    }
  }
}

void HelloServer::begin_request(Connection& connection, const HttpRequest& request) {
  const bool ignored =
      connection.caller == Caller::visitor && context_.is_ignored(request.method.c_str(), request.path.c_str());
  connection.request = context_.request_started(ignored ? Caller::ignored : connection.caller);
  connection.has_asked = true;
  connection.keep_alive = request.keep_alive;
  connection.without_body = request.method == "HEAD";
  connection.answer = handler_(request, context_);
  if (connection.answer.delay_ns == 0) return write_answer(connection);
  connection.answer_at_ns = now_ns() + connection.answer.delay_ns;
  watch(connection.fd, 0, EPOLL_CTL_MOD);
}

// Only now: whether the connection ends may have been decided while the request was in flight.
void HelloServer::write_answer(Connection& connection) {
  connection.answer_at_ns = 0;
  connection.keep_alive &= !announces_close_ && (!retiring_ || may_move(connection));
  const Answer answer = std::exchange(connection.answer, {});
  connection.status = answer.status;
  connection.out = response(answer.status, answer.body, connection.keep_alive, connection.without_body);
}

void HelloServer::end_request(Connection& connection) {
  if (connection.request) context_.request_finished(*connection.request, connection.status);
  connection.request.reset();
  connection.close_at_ns = now_ns() + keep_alive_ns_;
}

// Calls come through a door of their own, and what the master declined once is not offered again.
bool HelloServer::may_move(const Connection& connection) const {
  return parking_ && connection.caller == Caller::visitor && !connection.declined;
}

// Though this worker retires and the connection is idle: what was declined has an answer to come that says that it
// closes, and what nobody else will serve may have its first request on its way.
bool HelloServer::stays(const Connection& connection) const {
  return connection.declined || (!may_move(connection) && !connection.has_asked && now_ns() < fresh_until_ns_);
}

// Whatever the sidecar has asked has had its second.
bool HelloServer::is_over(const Connection& connection) const {
  return retiring_ && connection.caller == Caller::sidecar && now_ns() >= fresh_until_ns_;
}

// This worker retires, and the connection is between two requests.
void HelloServer::leave(Connection& connection) {
  if (may_move(connection)) return hand_over(connection);
  if (connection.caller == Caller::sidecar) return close_now(connection.fd);  // whom no retirement waits for
  if (has_unread(connection.fd)) return watch(connection.fd, EPOLLIN, EPOLL_CTL_MOD);
  close_gently(connection);
}

// What the client sends meanwhile stays in the socket, for whoever has it then.
void HelloServer::hand_over(Connection& connection) {
  const int fd = connection.fd;
  watch(fd, 0, EPOLL_CTL_DEL);
  const std::uint64_t number = context_.hand_over(fd);
  if (number == 0) return watch(fd, EPOLLIN, EPOLL_CTL_ADD);  // too many wait: timers() tries again
  given_[number] = std::move(connection);
  connections_.erase(fd);
}

void HelloServer::take_back(std::uint64_t number) {
  auto given = given_.extract(number);
  if (given.empty()) return;
  given.mapped().declined = true;
  const int fd = given.mapped().fd;
  connections_[fd] = std::move(given.mapped());
  watch(fd, EPOLLIN, EPOLL_CTL_ADD);
}

void HelloServer::close_gently(Connection& connection) {
  ::shutdown(connection.fd, SHUT_WR);
  connection.closing = true;
  connection.close_at_ns = now_ns() + linger_ns;
  watch(connection.fd, EPOLLIN, EPOLL_CTL_MOD);
}

void HelloServer::close_now(int fd) {
  const auto closed = connections_.extract(fd);
  if (closed.empty()) return;
  if (closed.mapped().request) context_.request_finished(*closed.mapped().request, 0);
  ::close(fd);
}

void HelloServer::timers() {
  const std::uint64_t now = now_ns();
  if (!retiring_ && connections_.size() < max_connections) accept_all(true);
  std::vector<int> due;
  for (const auto& [fd, connection] : connections_) {
    const bool waits = !connection.request && connection.out.empty();
    if ((connection.answer_at_ns != 0 && connection.answer_at_ns <= now) || (waits && connection.close_at_ns <= now) ||
        (retiring_ && is_idle(connection) && !stays(connection)) || is_over(connection))
      due.push_back(fd);
  }
  for (const int fd : due) {
    Connection& connection = connections_.at(fd);
    if (is_over(connection)) {
      close_now(fd);
    } else if (connection.answer_at_ns != 0) {
      write_answer(connection);
      advance(connection);
    } else if (connection.closing) {
      close_now(fd);
    } else if (retiring_ && is_idle(connection) && !stays(connection)) {
      leave(connection);
    } else {
      close_gently(connection);
    }
  }
}

int HelloServer::wait_milliseconds() const {
  const std::uint64_t now = now_ns();
  std::uint64_t until = std::min(now + heartbeat_ns_, deadline_ns_);
  if (fresh_until_ns_ > now) until = std::min(until, fresh_until_ns_);
  for (const auto& [fd, connection] : connections_) {
    if (connection.answer_at_ns != 0) until = std::min(until, connection.answer_at_ns);
    if (!connection.request) until = std::min(until, connection.close_at_ns);
  }
  return until <= now ? 0 : static_cast<int>((until - now) / 1'000'000 + 1);
}

// What is idle is handed over, or closed, by timers().
void HelloServer::retire(const moult::WorkerMessage& order) {
  retiring_ = true;
  parking_ = order.parking;
  deadline_ns_ = order.deadline_ns;
  fresh_until_ns_ = now_ns() + fresh_ns;
  const auto doors = listeners_;
  if (accepting_ && !parking_)  // nobody else accepts: who waits there would be reset
    for (const auto& [fd, caller] : doors) accept_from(fd, caller);
  accept_all(false);
  for (const auto& [fd, caller] : doors) ::close(fd);  // ours alone: other workers have their own
  listeners_.clear();
  context_.stopping();
}

void HelloServer::hear_the_master() {
  using Kind = moult::WorkerMessage::Kind;
  for (auto message = context_.next_message(); message.kind != Kind::nothing; message = context_.next_message()) {
    switch (message.kind) {
      case Kind::announce_close: announces_close_ = true; break;
      case Kind::retire: retire(message); break;
      case Kind::held: given_.erase(message.connection); break;
      case Kind::declined: take_back(message.connection); break;
      case Kind::adopt:
        ::fcntl(message.fd, F_SETFL, ::fcntl(message.fd, F_GETFL) | O_NONBLOCK);
        welcome(message.fd, Caller::visitor);
        break;
      case Kind::master_gone: master_gone_ = true; break;
      case Kind::nothing: break;
    }
  }
}
}  // namespace example
