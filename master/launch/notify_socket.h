#pragma once
// The NOTIFY_SOCKET of all commands that one launcher runs: where they say READY=1, as they would to systemd.
// Owned by ExecLauncher.
//
// It has an abstract address of the kernel's choice: nothing to remove, even after a kill -9, nothing to give to
// --user, reachable from a chroot. Its price: a command in a network namespace of its own does not reach it (and is
// then ready after --ready-delay), and any local process may write to it. So whoever reads asks the kernel who sent it:
// see ExecLauncher for the rule.
#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/fd_watch.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "worker/message.h"
namespace moult {
class NotifySocket {
 public:
  // An error: who sent it, and what was wrong with it. Fds that come along are closed: that answers BARRIER=1.
  using Heard = std::function<void(const ucred& sender, const Result<Message>&)>;
  static Result<std::unique_ptr<NotifySocket>> open(uv_loop_t*, Heard);
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  const std::string& address() const { return address_; }  // for NOTIFY_SOCKET: "@" and the name
  void read_all();                                         // now, until nothing waits

 private:
  NotifySocket(UniqueFd, std::string address, Heard);
  void read(int most);
  UniqueFd fd_;
  std::string address_;
  Heard heard_;
  std::unique_ptr<FdWatch> watch_;
};
}  // namespace moult
