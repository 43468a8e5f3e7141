#pragma once
// The workers of this instance: what should be true (Goal), what is (workers), and the replacements in
// hand (Turn). Pure. Every wish (boot, crash, scale, reload, recycle, sleep, stop) changes Goal or a
// worker's decision; reconcile() alone decides who is launched and who retires.
//
// Mode; a stop only goes forwards:
//   serve <-> sleep           SetMode
//   serve    -> delay         Stop: serves on, turns begun are ended in peace, no new one
//   sleep    -> draining      Stop: nobody is wanted
//   delay    -> draining      stop_delay over: all but one retire
//   draining -> last          the others are gone, or half of `graceful` is over: CloseListeners, what still waits
//   there
//                             goes to the last one
//   last     -> finished      ListenersClosed (or its deadline): the last one retires; nobody is left
//   From delay to the end there is one `graceful` for all: who retires last has what the others left of it.
//   any      -> quick         StopQuickly, or nothing ever booted: SIGINT to all; once more: SIGKILL
//   quick    -> finished      nobody is left
//
// Turn, at most one a slot; at most one of them is asking or granted:
//   asking     -> granted     the gate grants; a deploy begins here
//   granted    -> replacing   at once, but a third never retires beside two others
//   replacing  -> (over)      the slot serves again and the outgoing one was told to retire
//   replacing  -> recovering  the successor could not boot
//   recovering -> (over)      the slot serves: the outgoing one still does, or a refill
//   asking     -> (over)      refused; moot; or a more urgent one asks
//   any        -> (over)      its deadline; its slot is no longer wanted
// Draining is no stage: the outgoing one is then simply a retiring worker, and routine turns wait until it is gone.
#include <vector>
#include "base/backoff.h"
#include "lease/gate.h"
#include "master/pool/worker_state.h"
namespace moult {
enum class Mode { serve, sleep, delay, draining, last, quick, finished };
struct Goal {
  Mode mode = Mode::serve;
  MonotonicTime mode_until = never;  // delay, draining and last end here
  MonotonicTime stop_by = never;     // draining, last: when every worker is to have retired
  unsigned workers = 0;
  unsigned spares = 0;
  Generation proven;     // the newest that ever served; zero until a first READY
  Generation candidate;  // replacements come from it; equals proven when no reload is in hand
  Generation lost;       // this one cannot be forked any more
  unsigned candidate_failures = 0;
  bool slept = false;  // it was put to sleep: a wake that fails ends nothing, though nothing ever served
  int exit_code = 0;   // said when a stop has finished
};
enum class TurnStage { asking, granted, replacing, recovering };
enum class Order {
  successor_first,  // RETIRE when the successor is READY
  together,         // fork and RETIRE in one step
  in_place,         // RETIRE, fork when it is gone
};
enum class Headroom { for_two, for_one };
enum class Rank { none, routine, deploy, hard_limit, pressure };
struct WaitsFor {
  Refusal why;
  MonotonicTime until;  // answered or told anew
};
struct Turn {
  WorkerId outgoing;
  unsigned slot;
  Rank rank;
  TurnStage stage;
  Order order;                                       // decided when it starts
  AskId ask;                                         // the question, then the lease; zero: a deploy, or released
  MonotonicTime deadline;                            // never while the gate owes the answer
  std::optional<WaitsFor> waits_for = std::nullopt;  // asking: what the gate waits for, if that takes long
};
struct RefusedUntil {
  Rank rank = Rank::none;
  MonotonicTime retry_at{};
  Refusal why{};
};
struct Slot : Backoff {
  Generation failed;  // the code whose boot failed here last; zero once somebody served
};
struct Pool {
  Goal goal;
  std::vector<Slot> slots;
  Backoff spare_boots;
  std::vector<Worker> workers;
  std::vector<Turn> turns;
  RefusedUntil refused;
  Headroom headroom = Headroom::for_two;
  std::uint64_t last_id = 0;
  Random random;  // for the jitter of back-offs
};
struct PoolPolicy {
  WorkerTimeouts timeouts;
  unsigned boot_attempts;
  BackoffPolicy backoff;  // of boots
  Duration stable_after;  // a worker that served this long has shown that it can: its slot's back-off is forgotten
  Duration stop_delay;
};

struct ScaleTo {
  unsigned workers;
};
struct SetSpares {
  unsigned spares;
};
struct SetMode {
  Mode mode;
};  // serve or sleep
struct Stop {};
struct StopQuickly {};
struct ListenersClosed {};  // and all that waited in them was adopted or refused
struct GenerationLoaded {
  Generation generation;
};
struct GenerationLost {
  Generation generation;
};  // its fork server is gone; those it forked live on
struct GenerationRefused {
  Generation generation;
};  // its workers get ready, but cannot live with the settings: to try again would not help
struct HeadroomChanged {
  Headroom headroom;
};
struct WorkerParked {
  WorkerId id;
};
struct WorkerReady {
  WorkerId id;
};
struct WorkerHung {
  WorkerId id;
};
struct WorkerGone {
  WorkerId id;
  // The machine had no room for it (descriptors, memory, processes): that says nothing about the code.
  bool for_want_of_room = false;
};
struct Verdict {
  WorkerId worker;
  Decision decision;
};
struct Judged {
  std::vector<Verdict> verdicts;  // of one look at all that were due: one step, however many they are
};
struct GateAnswered {
  AskId ask;
  GateAnswer answer;
};
struct GateWaits {
  AskId ask;
  WaitsFor waits_for;
};  // changes nothing but what is said of those that the question is about
using PoolEvent = std::variant<ScaleTo, SetSpares, SetMode, Stop, StopQuickly, ListenersClosed, GenerationLoaded,
                               GenerationLost, GenerationRefused, HeadroomChanged, WorkerParked, WorkerReady,
                               WorkerHung, WorkerGone, Judged, GateAnswered, GateWaits, TimePassed>;

struct Spawn {
  WorkerId id;
  std::optional<unsigned> slot;
  Generation generation;
};  // no slot: it parks as a spare
struct AskGate {
  AskId ask;
  Urgency urgency;
};
struct ReleaseGate {
  AskId ask;
};  // also cancels a question that was not answered yet
struct BeginRecycle {
  WorkerId id;
  AskId ask;
  Order order;
  Recycle why;
};  // nothing to do but to know it: cooldowns count from now
struct GenerationProven {
  Generation generation;
};
struct GenerationRejected {
  Generation generation;
};
struct CloseListeners {
  WorkerId heir;
};  // zero: nobody serves, refuse politely
struct Finished {
  int exit_code;
};
using PoolAction = std::variant<Spawn, Go, SendRetire, SendSignal, AskGate, ReleaseGate, BeginRecycle, GenerationProven,
                                GenerationRejected, CloseListeners, Finished>;

Step<Pool, PoolAction> transition(Pool, const PoolEvent&, const PoolPolicy&, MonotonicTime now);
MonotonicTime next_deadline(const Pool&, MonotonicTime now);
}  // namespace moult
