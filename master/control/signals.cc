#include "master/control/signals.h"

#include <pthread.h>

#include <array>
#include <csignal>
#include <string>
namespace moult {
namespace {
struct Heard {
  int number;
  const char* name;
};
constexpr std::array heard{Heard{SIGTERM, "SIGTERM"}, Heard{SIGINT, "SIGINT"},   Heard{SIGQUIT, "SIGQUIT"},
                           Heard{SIGHUP, "SIGHUP"},   Heard{SIGTTIN, "SIGTTIN"}, Heard{SIGTTOU, "SIGTTOU"},
                           Heard{SIGUSR1, "SIGUSR1"}, Heard{SIGUSR2, "SIGUSR2"}};

void set_mask(int how) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const Heard& signal : heard) ::sigaddset(&set, signal.number);
  ::pthread_sigmask(how, &set, nullptr);  // cannot fail with a valid `how`
}

std::string name_of(int number) {
  for (const Heard& signal : heard)
    if (signal.number == number) return signal.name;
  return "signal " + std::to_string(number);
}
}  // namespace

void block_signals_early() {
  ::signal(SIGPIPE, SIG_IGN);
  set_mask(SIG_BLOCK);
}

void unblock_signals() { set_mask(SIG_UNBLOCK); }

Result<std::unique_ptr<Signals>> Signals::start(uv_loop_t* loop, Operator& wishes) {
  std::unique_ptr<Signals> signals(new Signals(wishes));
  for (const Heard& signal : heard) {
    auto* handle = new uv_signal_t;
    if (const int error = ::uv_signal_init(loop, handle)) {
      delete handle;
      return Error{std::string("cannot listen to signals: ") + ::uv_strerror(error), -error};
    }
    handle->data = signals.get();
    signals->handles_.emplace_back(handle);
    const int error = ::uv_signal_start(
        handle, [](uv_signal_t* h, int number) { static_cast<Signals*>(h->data)->arrived(number); }, signal.number);
    if (error) return Error{"cannot listen to " + std::string(signal.name) + ": " + ::uv_strerror(error), -error};
  }
  set_mask(SIG_UNBLOCK);
  return signals;
}

Signals::~Signals() { set_mask(SIG_BLOCK); }

void Signals::arrived(int number) {
  const std::string name = name_of(number);
  switch (number) {
    case SIGTERM: operator_.stop(name); break;
    case SIGINT:
    case SIGQUIT: operator_.stop_quickly(name); break;
    case SIGHUP: static_cast<void>(operator_.reload(name, [](const ReloadOutcome&) {})); break;
    case SIGTTIN: static_cast<void>(operator_.one_more(name)); break;
    case SIGTTOU: static_cast<void>(operator_.one_less(name)); break;
    case SIGUSR1: operator_.reopen_logs(name); break;
    case SIGUSR2: operator_.refuse(name, "the upgrade in place comes with a later version of moult"); break;
    default: break;
  }
}
}  // namespace moult
