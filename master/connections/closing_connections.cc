#include "master/connections/closing_connections.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "master/connections/send_queue.h"
#include "master/connections/socket_inode.h"
namespace moult {
namespace {
// How much that was. Nothing: its client will say no more.
std::optional<std::size_t> discard_some(int fd) {
  std::array<char, 64 * 1024> bytes;
  const ssize_t count = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count > 0) return static_cast<std::size_t>(count);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  return std::nullopt;
}
}  // namespace

ClosingConnections::ClosingConnections(uv_loop_t* loop, const ClosingPolicy& policy)
    : loop_(loop), policy_(policy), machine_(loop, Closings{}, policy_, [this](const auto& a) { perform(a); }) {}

void ClosingConnections::close(UniqueFd connection) {
  const ClosingId id{++last_id_};
  ::shutdown(connection.get(), SHUT_WR);
  const std::uint64_t inode = socket_inode(connection.get());
  inodes_.insert(inode);
  held_[id] = {.fd = std::move(connection), .inode = inode};
  machine_.post(ClosingBegins{id});
}

void ClosingConnections::allow_aborts(bool allowed) { machine_.post(AbortsAllowed{allowed}); }

std::size_t ClosingConnections::give_up() {
  const std::size_t left = undelivered(machine_.state());
  machine_.post(WatchEnds{});
  return left;
}

ClosingDescription ClosingConnections::describe() const {
  const Closings& closings = machine_.state();
  return {closings.connections.size(), undelivered(closings), stalled(closings), closings.counts};
}

void ClosingConnections::perform(const ClosingAction& action) {
  std::visit(Match{
                 [&](const Listen& a) { listen(a.id); },
                 [&](const LookAtQueue& a) { look(a.id); },
                 [&](const AbortClosing& a) { abort_connection(take(a.id)); },
                 [&](const LetClosingGo& a) {
                   const UniqueFd connection = take(a.id);
                   discard_some(connection.get());  // what was there when it came, if it is one too many
                 },
             },
             action);
}

UniqueFd ClosingConnections::take(ClosingId id) {
  auto held = held_.extract(id);
  held.mapped().watch.reset();
  inodes_.erase(held.mapped().inode);
  return std::move(held.mapped().fd);
}

void ClosingConnections::listen(ClosingId id) {
  Held& held = held_.at(id);
  auto watch = FdWatch::open(loop_, held.fd.get(), [this, id](int) { discard(id); });
  if (!watch) return machine_.post(ClosingClientEnded{id});
  held.watch = std::move(*watch);
}

// A little at each turn of the loop: one that sends all the time keeps nobody waiting.
void ClosingConnections::discard(ClosingId id) {
  Held& held = held_.at(id);
  const auto discarded = discard_some(held.fd.get());
  held.discarded_bytes += discarded.value_or(0);
  if (discarded && held.discarded_bytes < policy_.most_discarded_bytes) return;
  held.watch.reset();  // an end is readable for ever
  machine_.post(ClosingClientEnded{id});
}

void ClosingConnections::look(ClosingId id) {
  const auto reading = read_send_queue(held_.at(id).fd.get());
  machine_.post(QueueSeen{id, reading ? SendQueueLook(*reading) : SendQueueLook(LookFailed{})});
}
}  // namespace moult
