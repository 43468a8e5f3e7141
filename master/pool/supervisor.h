#pragma once
// Runs the pool on the loop: performs its actions on real processes, and turns what these say into its events. Owns the
// links of all workers and decides nothing itself: pool/ decides who lives, generations/ what is loaded.
// Made by Instance; called by Operator (control), by the watches (health, memory) and, for looking, by report.
#include <uv.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/machine.h"
#include "master/pool/generations.h"
#include "master/pool/launcher.h"
#include "master/pool/pool.h"
#include "master/pool/trouble.h"
#include "master/pool/waiting_slots.h"
#include "master/pool/worker_observer.h"
namespace moult {
struct SupervisorPolicy {
  PoolPolicy pool;
  GenerationsPolicy generations;
  std::uint64_t random_seed;
};

// What one worker is now. Times are ages at the moment of describing.
struct WorkerDescription {
  WorkerId id;
  std::optional<unsigned> slot;  // none: a spare
  pid_t pid;                     // zero: not started yet
  WorkerState state;
  Generation generation;
  Duration in_state;               // how long it has been in that state
  std::optional<Duration> uptime;  // since READY
  // Zero without a scoreboard. `requests` that it finished, by visitors alone; in flight may be calls, too.
  std::uint64_t requests, in_flight, open_connections, upgraded_connections, responses_5xx;
  std::string status;  // its last STATUS=
};

struct SupervisorDescription {
  Mode mode;
  unsigned wanted;
  Generation proven, candidate;
  pid_t fork_server_pid;                   // of the newest loaded generation; zero: none
  std::vector<WorkerDescription> workers;  // by slot, then by id
  std::string boot_error;                  // why the last load or boot failed; empty once a boot has succeeded since
  bool loads = false;                      // newer code is being read from disk
  std::vector<WaitingSlot> waiting_slots = {};
  WallTime boot_error_at{};  // and its age now; without a boot_error neither is looked at
  Duration boot_error_age{};
};

// How a reload ended: every wanted slot serves the new code, or why not.
struct ReloadOutcome {
  bool succeeded;
  std::string error;
  Generation generation;
};

inline constexpr int exit_not_loaded = 4;  // DESIGN §4; 3, never READY, is the pool's

class Supervisor {
 public:
  Supervisor(uv_loop_t*, const SupervisorPolicy&, Launcher&, Gate&);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  void observe(WorkerObserver& observer) { observers_.push_back(&observer); }  // before start(); outlives us
  // Both are set before start(). The first is answered with listeners_closed(), later or from inside.
  void on_close_listeners(std::function<void(WorkerId heir)> close) { close_listeners_ = std::move(close); }
  void on_finished(std::function<void(int exit_code)> finished) { finished_ = std::move(finished); }
  // Asked when a worker is ready, before it serves: may it live here? A refusal rejects the code that it comes from. Of
  // code that serves already (Trial::none) everybody is let in: that is said, and the answer is not looked at.
  enum class Trial { none, first_of_its_code };
  using Admission = std::function<Result<void>(const Worker&, pid_t, Trial)>;
  void on_admission(Admission admission) { admission_ = std::move(admission); }

  // Who hears of the client connections that workers pass; without one they keep their own, and are told so when they
  // retire. Set before start().
  void on_connections(ConnectionEvents events) { connections_ = std::move(events); }

  void start(unsigned workers);  // loads the first generation
  void scale(unsigned workers);
  void reload(std::function<void(const ReloadOutcome&)> finished);  // with a later one it ends together
  // Nobody is wanted in a slot, and all retire; then everybody again, of code that is loaded first where the warmth was
  // dropped. No effect while a stop is in hand.
  void sleep();
  void wake();
  void set_spares(unsigned spares);  // how many started workers are kept beside those in slots, asleep as well
  // Asleep: ends the spares (set_spares(0)) and the fork servers, after a reload that is in hand has ended: who asked
  // for it hears whether the new code comes up. Else no effect.
  void drop_warmth();
  // A wake that is not likely to succeed: nobody serves, and there is no code that loads, or --boot-attempts boots have
  // failed. Told at most once a wake, from the loop, and may be answered with sleep() from inside; until then it is
  // tried on. Set before start().
  void on_wake_failed(std::function<void(const std::string& cause)> told) { on_wake_failed_ = std::move(told); }
  std::string trouble_in_wake() const;  // why a load or boot failed since wake(), while nobody serves; empty: none did
  void stop();                          // graceful; again: no effect
  void stop_quickly();
  void hung(WorkerId, const std::string& why);
  void judge(std::vector<Verdict>);  // the recycler's word: a level, overwritten by the next
  void headroom(Headroom);
  void listeners_closed();

  void reopen_logs();  // asks every worker that knows how
  const Pool& pool() const { return pool_.state(); }
  WorkerLink* link(WorkerId) const;  // null: gone
  pid_t fork_server_pid() const;     // of the newest loaded generation; zero: none
  SupervisorDescription describe() const;

 private:
  // One launched worker, and what is known of it beyond the pool's record.
  struct Attached {
    std::unique_ptr<WorkerLink> link;
    MonotonicTime boot_began_at;  // a spare's second one is from GO to READY
    std::optional<MonotonicTime> ready_at;
    bool parked = false;  // it waits for its GO, or did so to its end
    bool accepts = true;  // until it said STOPPING; a spare from GO on
    std::string status;
  };
  struct Asked {
    std::unique_ptr<Grant> grant;
    Granted granted{};  // once it is
  };
  struct Wake {  // until somebody serves
    unsigned failed_boots = 0;
    std::string trouble = {};  // the last one in it
  };
  struct PendingReload {
    Generation generation;
    std::vector<std::function<void(const ReloadOutcome&)>> finished;
    std::optional<std::string> failed;  // the cause: told once nobody can meet its workers any more
  };

  void perform(const PoolAction&);
  void perform(const GenerationsAction&);
  void load(Generation);
  void load_failed(Generation, const std::string& why);
  void reject(Generation);
  void launch(const Spawn&);
  void go(const Go&);
  void retire(const SendRetire&);
  void ask_gate(const AskGate&);
  void finish(int exit_code);
  void parked(WorkerId);
  void ready(WorkerId);
  void stopped_accepting(WorkerId);
  void refused(WorkerId, const std::string& what);
  void next_due(WorkerId, const std::string& unix_seconds);
  Trial trial(const Worker&) const;
  void begin_recycle(const BeginRecycle&);
  void settled();
  void gone(WorkerId, Exit);
  void settle_reload();
  void reload_ended();
  bool up_while_asleep(Generation) const;
  void load_failed_in_wake();
  void boot_failed_in_wake();
  void give_up_wake();
  bool accepts_visitors(Generation) const;
  void end_reload(const std::string& error);
  std::string cause_of(Generation) const;
  void note(Trouble);  // befell just now
  WorkerDescription describe(const Worker&) const;
  MonotonicTime now() const { return monotonic_now(loop_); }
  template <class Say>
  void tell(Say say) {
    for (WorkerObserver* each : observers_) say(*each);
  }

  uv_loop_t* loop_;
  const SupervisorPolicy policy_;
  Launcher& launcher_;
  Gate& gate_;
  std::vector<WorkerObserver*> observers_;
  std::function<void(WorkerId)> close_listeners_;
  std::function<void(int)> finished_;
  std::map<WorkerId, Attached> attached_;  // exactly the workers of the pool
  std::unique_ptr<WorkerLink> departed_;   // the last one that is gone: it cannot be destroyed inside its own callback
  Admission admission_ = [](const Worker&, pid_t, Trial) { return Result<void>(); };
  ConnectionEvents connections_;
  std::map<AskId, Asked> asked_;
  std::optional<PendingReload> reload_;
  bool drops_warmth_after_reload_ = false;
  std::optional<Wake> wake_;
  std::function<void(const std::string&)> on_wake_failed_;
  std::optional<Trouble> trouble_;
  Machine<Pool, PoolEvent, PoolAction, PoolPolicy> pool_;
  Machine<Generations, GenerationsEvent, GenerationsAction, GenerationsPolicy> generations_;
};
}  // namespace moult
