#pragma once
// One generation's fork server: a process that loaded the app once and forks workers from it (worker/fork_protocol.h).
// Owned by ForkServers, on the loop's thread.
//
//   loading -> loaded   LOADED=1. There is no limit of time: an app may take minutes to load
//   loading -> ending   LOAD_FAILED=1, it died, it spoke nonsense: load_failed
//   loaded  -> ending   it died, it spoke nonsense: lost
//   any     -> ending   end(): nothing is said
//   ending  -> (over)   its process is reaped: ended
// Ending is: its channel is closed (it exits by that alone) and SIGTERM; SIGKILL after `patience`.
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/ids.h"
#include "master/launch/channel_port.h"
#include "master/launch/child_settings.h"
#include "master/launch/fork_server_settings.h"
#include "master/launch/later.h"
#include "master/launch/pidfd.h"
#include "master/launch/worker_output.h"
#include "master/pool/pool.h"
namespace moult {
struct ForkServersOptions {
  std::vector<std::string> program;  // what is executed; --channel-fd and --settings-fd are added
  ForkServerSettings settings;
  ChildSettings child;
  std::function<void(const std::string& server)> served_by;  // "uvicorn 0.17.6", once a generation is loaded
  std::function<void(const std::string&)> warn;              // for the log
  std::string if_silent = {};  // what to ask whose program ended before our part ran in it: "is it ...?"
};

struct ForkedWorkerFds {
  UniqueFd channel, scoreboard;
  UniqueFd out, err;  // none: as the fork server's own
};

class ForkServer {
 public:
  static constexpr std::chrono::milliseconds patience{2000};
  // None is called from inside a call to us. It must not be destroyed from inside any of them.
  struct Events {
    std::function<void()> loaded;
    std::function<void(const Error&)> load_failed;
    std::function<void(const Exit&)> lost;
    std::function<void(WorkerId, pid_t)> forked;  // told before the worker is our child
    std::function<void(WorkerId, const std::string& stage, int error)> fork_failed;
    std::function<void()> message_refused;  // one from another process: counted, nothing else
    std::function<void()> ended;            // the last one, always: it may be forgotten
  };
  ForkServer(uv_loop_t*, Orphans&, const ForkServersOptions&, const WorkerOutput& output, Events);
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;

  bool loaded() const { return stage_ == Stage::loaded; }
  pid_t pid() const { return process_ ? process_->pid() : 0; }
  Result<void> fork(const Spawn&, ForkedWorkerFds);
  void withdraw(WorkerId);                               // a FORK that was not sent yet need not be
  void say_exited(pid_t, std::optional<unsigned> slot);  // for gunicorn's child_exit
  void read_all();                                       // what it has said by now
  void end();

 private:
  enum class Stage { loading, loaded, ending };
  void start(const WorkerOutput&);
  std::optional<Exit> execute(const WorkerOutput&, UniqueFd channel);
  void received(const Received&);
  void heard(const Message&);
  void heard_of_fork(const Message&);
  std::string why_not_loaded(const Exit&) const;
  void channel_ended();
  void kill_after_patience();
  void broken(const std::string& why);  // it cannot be trusted any more
  void exited(Exit);
  void fail_load(const Error&);
  void say_ended();

  uv_loop_t* loop_;
  Orphans& orphans_;
  const ForkServersOptions& options_;
  Events events_;
  Stage stage_ = Stage::loading;
  bool spoke_ = false;
  bool ended_said_ = false;
  std::string cause_;  // why it ends, in its words or ours
  Later later_;
  UvHandle<uv_timer_t> kill_timer_;
  std::unique_ptr<ChannelPort> port_;
  std::unique_ptr<ChildProcess> process_;
};
}  // namespace moult
