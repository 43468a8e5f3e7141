#pragma once
// Launches any command on the master's listeners, as systemd would: LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES (fds from 3
// on), NOTIFY_SOCKET, and WATCHDOG_USEC when moult watches heartbeats. Made by Instance, used by the Supervisor, which
// gives up all its links before this is destroyed.
//
// Who may speak for a worker on the notify socket: its process and those in its process group, by the kernel's word for
// the sender. That is what runs as its part (`npm start` and the node below it, systemd-notify in a script), and it is
// exactly what is killed with it: who may outlive a worker may not vouch for it. A sender that is gone when it is heard
// is refused, since nothing is known of it; systemd-notify waits (BARRIER=1) until it was heard. Anything else is
// counted and ignored. So is a message that is no message: a program that serves is not retired over its notes.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "master/launch/child_settings.h"
#include "master/launch/notify_link.h"
#include "master/launch/notify_socket.h"
#include "master/pool/launcher.h"
namespace moult {
struct ExecOptions {
  std::vector<std::string> command;
  std::vector<InheritedListener> listeners;
  ChildSettings child;
  Duration ready_delay{};
  std::optional<Duration> timeout;  // --timeout; none: heartbeats are not watched
};

class ExecLauncher final : public Launcher, private NotifyLinkHome {
 public:
  static Result<std::unique_ptr<ExecLauncher>> create(uv_loop_t*, Orphans&, ExecOptions);
  ExecLauncher(const ExecLauncher&) = delete;
  ExecLauncher& operator=(const ExecLauncher&) = delete;

  void load(Generation, const LoadEvents&) override;  // loaded, on the loop's next turn: each worker loads by itself
  std::unique_ptr<WorkerLink> launch(const Spawn&, const LinkEvents&) override;
  void drop(Generation) override {}
  std::size_t running() const override { return 0; }
  pid_t fork_server_pid(Generation) const override { return 0; }

  std::uint64_t refused_messages() const { return refused_messages_; }
  std::uint64_t dropped_output_lines() const { return shared_output_.dropped_lines(); }  // of OutputRoute::relay

 private:
  ExecLauncher(uv_loop_t*, Orphans&, ExecOptions);
  std::optional<Exit> start(const Spawn&, NotifyLink&);
  void heard(const ucred& sender, const Result<Message>&);
  NotifyLink* speaker(pid_t sender) const;
  void read_notify_socket() override { notify_->read_all(); }
  void forget(WorkerId id) override { links_.erase(id); }

  uv_loop_t* loop_;
  Orphans& orphans_;
  ExecOptions options_;
  std::map<WorkerId, NotifyLink*> links_;
  std::uint64_t refused_messages_ = 0;
  WorkerOutput shared_output_;
  std::unique_ptr<NotifySocket> notify_;
  Later later_;
};
}  // namespace moult
