// The supervisor's part in sleep and wake. Whoever decides when is master/sleep.
#include <utility>

#include "master/pool/pool_parts.h"
#include "master/pool/supervisor.h"
namespace moult {
void Supervisor::sleep() {
  wake_.reset();
  if (pool_.state().goal.mode == Mode::serve) generations_.post(NotNeeded{});
  pool_.post(SetMode{Mode::sleep});
}

void Supervisor::wake() {
  const Mode mode = pool_.state().goal.mode;
  drops_warmth_after_reload_ = false;
  if (mode == Mode::sleep) wake_ = Wake{};
  if (mode == Mode::sleep || mode == Mode::serve) generations_.post(Needed{});  // in a stop nothing is loaded any more
  pool_.post(SetMode{Mode::serve});
}

void Supervisor::set_spares(unsigned spares) {
  if (spares != pool_.state().goal.spares) pool_.post(SetSpares{spares});
}

void Supervisor::drop_warmth() {
  drops_warmth_after_reload_ = false;
  if (pool_.state().goal.mode != Mode::sleep) return;
  if (reload_) {
    drops_warmth_after_reload_ = true;
    return;
  }
  set_spares(0);
  generations_.post(DropAll{});
}

// --- a wake that leads to nothing

// With no code to fork from. It is loaded anew after a back-off, or when somebody wishes.
void Supervisor::load_failed_in_wake() {
  if (generations_.state().loaded.empty()) give_up_wake();
}

// The code may be as good as it ever was, and its database away.
void Supervisor::boot_failed_in_wake() {
  if (wake_ && ++wake_->failed_boots >= policy_.pool.boot_attempts) give_up_wake();
}

std::string Supervisor::trouble_in_wake() const { return wake_ ? wake_->trouble : ""; }

void Supervisor::give_up_wake() {
  const auto failed = std::exchange(wake_, std::nullopt);
  if (failed && on_wake_failed_) on_wake_failed_(failed->trouble);
}
}  // namespace moult
