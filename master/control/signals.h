#pragma once
// The signals of a person or a service manager, as gunicorn has them:
//   TERM            stop gracefully          INT, QUIT  stop quickly (again: still quick)
//   HUP             reload                   TTIN/TTOU  one worker more / less
//   USR1            reopen the log files     USR2       comes with a later version: only said
// None is lost during boot. main's first act is block_signals_early(): from then on such a signal waits in the kernel,
// whatever boot is doing. Signals::start() puts the libuv handles in place first and unblocks then, so that what waited
// comes to the loop as its first work. (Two of one kind that wait are one: POSIX does not count them.)
// No child is made between the two; after them the mask is as it was, and spawn gives every child an empty mask and
// default actions, so that no worker inherits a deaf ear.
// A signal before main's first line has its default action: the process ends, and nothing was started yet.
#include <uv.h>

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/uv_handle.h"
#include "master/control/operator.h"
namespace moult {
// Called first in main, before any thread is made. Also ignores SIGPIPE: a reader that went away is an error of that
// write, not the end of the master.
void block_signals_early();

// The signals of the list above are let through again (main calls it where no loop will listen: in clients).
void unblock_signals();

class Signals {
 public:
  // The Operator must outlive it. When it goes, the signals are blocked again: what comes later changes nothing.
  static Result<std::unique_ptr<Signals>> start(uv_loop_t*, Operator&);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  explicit Signals(Operator& wishes) : operator_(wishes) {}
  void arrived(int signal_number);

  Operator& operator_;
  std::vector<UvHandle<uv_signal_t>> handles_;
};
}  // namespace moult
