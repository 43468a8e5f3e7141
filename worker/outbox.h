#pragma once
// What a worker wants to say to the master, in order, sent as the channel takes it. Owned by ForkedWorker.
#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/ids.h"
#include "worker/channel.h"
#include "worker/fd_custody.h"
namespace moult {
// Every connection in custody may wait here, and as many answers to the master's own; more means that the master hangs.
inline constexpr std::size_t max_waiting_messages = 8192;

class Outbox {
 public:
  Outbox(Channel& channel, const FdCustody& custody) : channel_(channel), custody_(custody) {}

  // The number of this message, counted from 1; zero: too many wait, it was not taken. With `connection`, the fd that
  // the custody has for it goes along; if it has none any more when its turn comes, the message is dropped.
  std::uint64_t put(Message, ConnectionId connection = {});
  void flush();

  std::uint64_t last_sent() const { return last_put_ - waiting_.size(); }
  std::size_t size() const { return waiting_.size(); }
  bool blocked() const { return blocked_; }  // polling for writing tells when to flush
  bool peer_gone() const { return peer_gone_; }

 private:
  struct Waiting {
    Message message;
    ConnectionId connection;
  };
  Channel& channel_;
  const FdCustody& custody_;
  std::deque<Waiting> waiting_;
  std::uint64_t last_put_ = 0;
  bool blocked_ = false, peer_gone_ = false;
};
}  // namespace moult
