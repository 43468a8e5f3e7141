#pragma once
// Connections that close here because a worker would cut them off: with input unread its close is a reset, which takes
// what its client has not acknowledged with it (FACTS, "Tails and sockets"). Here each gets its FIN; what its client
// still says is read and forgotten; and its descriptor goes when everything is acknowledged and the client has hung up.
// A reset that comes after that does no harm: Linux lets the client read what it has.
// The hands of closing.h. Owned by Delivery, on the loop's thread.
//
// Only for connections that no worker holds: the FIN is for all who share a socket.
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "base/fd_watch.h"
#include "base/machine.h"
#include "base/unique_fd.h"
#include "master/connections/closing.h"
namespace moult {
struct ClosingDescription {
  std::size_t held = 0;         // descriptors
  std::size_t undelivered = 0;  // of them: not everything is acknowledged
  std::size_t stalled = 0;      // of these: without progress for --linger-timeout
  LingerCounts counts;
};

class ClosingConnections {
 public:
  ClosingConnections(uv_loop_t*, const ClosingPolicy&);
  ClosingConnections(const ClosingConnections&) = delete;
  ClosingConnections& operator=(const ClosingConnections&) = delete;

  void close(UniqueFd connection);
  // Whether this socket is one of ours.
  bool holds(std::uint64_t inode) const { return inodes_.contains(inode); }
  // For a sleep and a stop: those that have stalled, or do, or are one too many, are reset from now on.
  void allow_aborts(bool);
  // Lets all go at once, the undelivered too, and says how many those were. The kernel does its best for them; a client
  // that still sends meets a reset.
  std::size_t give_up();

  ClosingDescription describe() const;
  // Whenever something may have changed; it must not destroy us.
  void on_settled(std::function<void()> call) { machine_.on_settled(std::move(call)); }

 private:
  struct Held {
    UniqueFd fd;
    std::unique_ptr<FdWatch> watch;  // while its client may speak; gone before the fd
    std::size_t discarded_bytes = 0;
    std::uint64_t inode = 0;
  };
  UniqueFd take(ClosingId);
  void perform(const ClosingAction&);
  void listen(ClosingId);
  void discard(ClosingId);
  void look(ClosingId);

  uv_loop_t* loop_;
  const ClosingPolicy policy_;
  std::uint64_t last_id_ = 0;
  std::map<ClosingId, Held> held_;  // exactly those of the core, and one that just came
  std::set<std::uint64_t> inodes_;  // of these
  Machine<Closings, ClosingEvent, ClosingAction, ClosingPolicy> machine_;
};
}  // namespace moult
