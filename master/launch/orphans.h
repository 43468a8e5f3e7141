#pragma once
// Reaps the dead that are nobody's. The master is the subreaper of all that it launches (and PID 1 in a container), so
// whatever its workers leave behind becomes its child, and would stay a zombie.
//
// Every child that somebody waits for is claimed, by its ChildProcess. On SIGCHLD, never by polling, the dead are
// looked at one after another without taking them (WNOWAIT): a claimed one goes to its owner, who reaps it and gets its
// exit status; any other is reaped here. So no status is ever stolen, and no claimed zombie hides the orphans that the
// kernel lists behind it.
//
// The race to mind: a worker is forked by a fork server, so the master learns its pid from what the fork server says
// (FORKED) and from its HELLO. Both may wait unread when it is dead already. Therefore, before a stranger is reaped,
// the fork servers' channels are read, and all those on which a HELLO is awaited. A fork server says FORKED before the
// worker is our child; of one that was not told of, the channel's end tells its link that there will be no worker.
//
// libuv waits for children only in uv_spawn, which moult does not use. One for each loop, made by Instance before
// anything is launched, on the main thread.
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/result.h"
#include "base/uv_handle.h"
#include "master/launch/later.h"
namespace moult {
class Orphans {
 public:
  // Becomes subreaper and listens for SIGCHLD.
  static Result<std::unique_ptr<Orphans>> adopt(uv_loop_t*);
  ~Orphans();
  Orphans(const Orphans&) = delete;
  Orphans& operator=(const Orphans&) = delete;

  // `dead` must reap it, at once, and release the claim.
  void claim(pid_t, std::function<void()> dead);
  void release(pid_t pid) { claimed_.erase(pid); }
  bool is_claimed(pid_t pid) const { return claimed_.contains(pid); }

  // Reads the channels on which FORKED or HELLO may wait. One reader: the launcher that forks by proxy.
  void before_reaping_strangers(std::function<void()> read_hellos) { read_hellos_ = std::move(read_hellos); }

  std::uint64_t reaped() const { return reaped_; }

 private:
  explicit Orphans(uv_loop_t* loop) : later_(loop) {}
  void sweep();
  bool settle_owner(pid_t);

  Later later_;
  UvHandle<uv_signal_t> signal_;
  std::map<pid_t, std::function<void()>> claimed_;
  std::function<void()> read_hellos_;
  std::uint64_t reaped_ = 0;
};
}  // namespace moult
