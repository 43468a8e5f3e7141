#pragma once
// The context of a native worker: what moult_worker.h promises an app, over the channel and the scoreboard. Made by the
// native fork server in each worker, after HELLO. One thread; not movable.
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "worker/channel.h"
#include "worker/fd_custody.h"
#include "worker/moult_worker.h"
#include "worker/outbox.h"
#include "worker/request_counter.h"
#include "worker/scoreboard_memory.h"
namespace moult {
// Connections that the master has not answered for: as the contract has it (docs/worker-contract.md).
inline constexpr std::size_t max_connections_in_custody = 64;

struct WorkerSettings {
  struct Listener {
    int fd = -1;
    std::string address, family;
  };
  std::vector<Listener> listeners;
  int internal_fd = -1, sidecar_fd = -1;
  std::map<std::string, std::string, std::less<>> server_options;
  std::map<std::string, std::string, std::less<>> settings;  // the scalar ones, as text; null ones are absent
  std::vector<std::string> idle_ignore;
};

class ForkedWorker final : public WorkerContext {
 public:
  ForkedWorker(Channel, ScoreboardMemory, WorkerSettings, unsigned slot);  // no_slot: a spare
  ForkedWorker(const ForkedWorker&) = delete;
  ForkedWorker& operator=(const ForkedWorker&) = delete;
  ~ForkedWorker() = default;

  Channel& channel() { return channel_; }  // for last words, past what waits to be sent
  // Of a spare that has started: blocks until it has a slot. False: nobody wants it any more.
  bool park();

  int api_version() const override { return worker_api_version; }
  unsigned slot() const override { return slot_; }
  std::size_t listener_count() const override { return settings_.listeners.size(); }
  WorkerListener listener(std::size_t index) const override;
  int internal_fd() const override { return settings_.internal_fd; }
  const char* server_option(const char* name) const override;
  const char* setting(const char* name) const override;

  int channel_fd() const override { return channel_.fd(); }
  short channel_events() const override;
  WorkerMessage next_message() override;

  bool ready(WorkerDrain) override;
  bool stopping() override;
  bool status(const char* text) override;
  bool next_due(std::int64_t unix_seconds) override;
  void heartbeat() override;

  Request request_started(Caller) override;
  void request_is_long(Request request) override { requests_.is_long(request); }
  void request_finished(Request, int http_status) override;
  void connections(std::size_t open, std::size_t upgraded) override;

  std::uint64_t hand_over(int fd) override;
  void take_connections(bool wanted) override { takes_connections_ = wanted && !retiring_; }
  std::size_t unsettled() const override { return gone_ ? 0 : outbox_.size() + custody_.size(); }
  bool is_ignored(const char* method, const char* target) const override;
  int sidecar_fd() const override { return settings_.sidecar_fd; }

 private:
  struct Adoption {
    UniqueFd fd;
    std::uint64_t acknowledgement;  // its number in the outbox: the app gets the fd once it is sent
  };
  bool say(Message, ConnectionId connection = {});
  WorkerMessage after_the_end();
  WorkerMessage understand(Received&);
  void adopt(ConnectionId, Received&);

  Channel channel_;
  ScoreboardMemory scoreboard_;
  WorkerSettings settings_;
  unsigned slot_;
  FdCustody custody_{max_connections_in_custody};
  Outbox outbox_{channel_, custody_};
  RequestCounter requests_{scoreboard_};
  std::deque<Adoption> adoptions_;
  std::vector<std::pair<ConnectionId, UniqueFd>> returned_;  // not acknowledged by a master that is gone
  std::uint64_t last_connection_ = 0;
  bool takes_connections_ = false, retiring_ = false;
  bool gone_ = false, gone_said_ = false;
};
}  // namespace moult
