#pragma once
// The master's end of any command: what it says by sd_notify, or its silence. Made by ExecLauncher, owned by the
// Supervisor.
//
// Ready at READY=1; or, if it has said nothing by then, after --ready-delay. Who has said anything (STATUS=) is one who
// will say READY=1, and is waited for. What it does with its connections when it retires is its own affair
// (Drain::own): to retire is SIGTERM.
#include <memory>
#include <string>

#include "base/uv_handle.h"
#include "master/launch/later.h"
#include "master/launch/pidfd.h"
#include "master/launch/worker_output.h"
#include "master/pool/worker_link.h"
#include "worker/message.h"
namespace moult {
// What a link tells its launcher. Its calls are allowed at any time.
class NotifyLinkHome {
 public:
  virtual ~NotifyLinkHome() = default;
  virtual void read_notify_socket() = 0;  // its process is dead: what it said last waits there
  virtual void forget(WorkerId) = 0;      // the link is being destroyed
};

class NotifyLink final : public WorkerLink {
 public:
  NotifyLink(uv_loop_t*, Orphans&, NotifyLinkHome&, WorkerId, LinkEvents);
  ~NotifyLink() override;
  NotifyLink(const NotifyLink&) = delete;
  NotifyLink& operator=(const NotifyLink&) = delete;

  Result<void> attach(pid_t, UniqueFd pidfd, WorkerOutput, Duration ready_delay);
  void fail(Exit);  // there will be no worker
  void heard(const Message&);

  void go(unsigned /*slot*/) override {}  // it was never parked
  void retire(MonotonicTime deadline, Adopters) override;
  void signal(int signal_number) override;
  void reopen_logs() override {}  // most programs die of SIGUSR1
  pid_t pid() const override { return pid_; }
  bool is_ready() const { return ready_said_; }
  const ScoreboardMemory* scoreboard() const override { return nullptr; }
  std::optional<MonotonicTime> heartbeat() const override { return watchdog_at_; }

 private:
  void be_ready();
  void exited(Exit);
  void finish(Exit);

  uv_loop_t* loop_;
  Orphans& orphans_;
  NotifyLinkHome& home_;
  WorkerId id_;
  LinkEvents events_;
  Later later_;
  UvHandle<uv_timer_t> ready_timer_;
  WorkerOutput output_;
  std::unique_ptr<ChildProcess> process_;
  pid_t pid_ = 0;
  bool ready_said_ = false, finished_ = false;
  std::string error_;
  std::optional<MonotonicTime> watchdog_at_;
};
}  // namespace moult
