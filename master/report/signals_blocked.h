#pragma once
// Blocks all signals for as long as it lives. A thread that is created meanwhile inherits the mask: signals are for the
// loop's thread alone, and a SIGPIPE of a writer's own stays pending on that writer and harms nobody.
#include <pthread.h>

#include <csignal>
namespace moult {
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};
}  // namespace moult
