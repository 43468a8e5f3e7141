#pragma once
// The master's end of a worker that a fork server forked. Made by ForkServers, owned by the Supervisor.
//
//   awaited  -> known   HELLO: the kernel's credentials of that message say which process it is
//   awaited  -> over    its process, of which FORKED told, is dead: gone with its exit. Its channel ended and nobody
//                       told, FORK_FAILED, or it was given up (retire, signal): gone with the stage "fork"
//   awaited  -> unheard HELLO of another version of the contract: refused; whatever else it says means nothing to us
//   known, unheard -> over   its process is dead and its channel was read to the end: gone with its exit
//
// Its channel is heard from that one process only. A message from another (a child of the worker that kept the channel)
// is counted and ignored; a bad one of its own is told once as `refused`.
#include <functional>
#include <memory>
#include <string>

#include "master/launch/channel_port.h"
#include "master/launch/later.h"
#include "master/launch/pidfd.h"
#include "master/launch/worker_output.h"
#include "master/pool/worker_link.h"
#include "worker/channel.h"
namespace moult {
// What a link tells its launcher. Its calls are allowed at any time.
class ChannelLinkHome {
 public:
  virtual ~ChannelLinkHome() = default;
  virtual void withdraw(WorkerId) = 0;                   // the FORK is no longer wanted
  virtual void takes_slot(WorkerId, unsigned slot) = 0;  // a spare
  virtual void exited(WorkerId, pid_t) = 0;              // a worker that lived is dead
  virtual void count_refused_message() = 0;
  virtual void forget(WorkerId) = 0;  // the link is being destroyed
};

struct WorkerEnds {  // the master's
  Channel channel;
  ScoreboardMemory scoreboard;
  WorkerOutput output;
};

class ChannelLink final : public WorkerLink {
 public:
  ChannelLink(uv_loop_t*, Orphans&, ChannelLinkHome&, WorkerId, LinkEvents);
  ~ChannelLink() override;
  ChannelLink(const ChannelLink&) = delete;
  ChannelLink& operator=(const ChannelLink&) = delete;

  Result<void> attach(WorkerEnds);
  void fail(Exit);     // there will be no worker
  void forked(pid_t);  // the fork server's word for who it will be; it need not be our child yet
  void read_hello();   // if it is still awaited

  void go(unsigned slot) override;
  void retire(MonotonicTime deadline, Adopters) override;
  void announce_close() override { tell({{"ANNOUNCE_CLOSE", "1"}}); }
  void signal(int signal_number) override;
  void reopen_logs() override;
  pid_t pid() const override { return pid_; }
  bool is_ready() const { return ready_said_; }
  const ScoreboardMemory* scoreboard() const override { return scoreboard_ ? &*scoreboard_ : nullptr; }
  std::optional<MonotonicTime> heartbeat() const override;
  bool adopts() const override;
  bool adopt(ConnectionId, int fd) override;
  void hold(std::uint64_t its_number) override;
  void decline(std::uint64_t its_number) override;
  void take_to_close(std::uint64_t its_number) override;
  std::uint64_t handed_over() const override { return handed_over_; }

 private:
  enum class State { awaited, known, unheard, over };
  void received(Received);
  void hello(const Received&);
  void heard(const Message&);
  void heard_of_connections(Received&);
  void stored(std::uint64_t its_number, Received&);
  void closing(std::uint64_t its_number, Received&);
  void ready(const Message&);
  void refuse(const std::string& what);
  void channel_ended();
  void died_before_hello();
  void release_born();
  void give_up();
  void finish(Exit);
  bool tell(Message);

  uv_loop_t* loop_;
  Orphans& orphans_;
  ChannelLinkHome& home_;
  WorkerId id_;
  LinkEvents events_;
  Later later_;
  std::optional<ScoreboardMemory> scoreboard_;
  WorkerOutput output_;
  std::unique_ptr<ChannelPort> port_;
  std::unique_ptr<ChildProcess> process_;
  pid_t pid_ = 0;
  pid_t born_ = 0;  // awaited, and claimed from Orphans; never signalled: it is known by a process's word alone
  State state_ = State::awaited;
  bool ready_said_ = false, hands_over_ = false, stopping_said_ = false;
  std::uint64_t handed_over_ = 0;
  std::string error_, refusal_;
  std::optional<MonotonicTime> watchdog_at_;
};
}  // namespace moult
