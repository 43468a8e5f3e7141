#pragma once
// The life of one worker process. Pure.
//
//   booting     -> serving      READY, and it has a slot
//   booting     -> spare        PARKED, and it has no slot: start-up done, listeners untouched
//   spare       -> booting      GO: it has a slot now, and its boot deadline again
//   booting     -> terminating  boot deadline, or nobody wants it any more
//   spare       -> terminating  nobody wants it any more
//   serving     -> retiring     RETIRE sent; drains until its deadline
//   serving     -> aborting     hung; SIGABRT prints stacks
//   retiring    -> terminating  deadline; SIGTERM
//   the above   -> terminating  quick stop; SIGINT (not aborting)
//   terminating -> killed       kill_after; SIGKILL
//   aborting    -> killed       kill_after; SIGKILL
//
// Any state ends when the process is gone: the record is then removed by the pool.
#include <optional>
#include <variant>
#include "base/clock.h"
#include "base/ids.h"
#include "base/step.h"
#include "recycler/decide.h"
namespace moult {
enum class WorkerState { booting, spare, serving, retiring, terminating, aborting, killed };
struct Worker {
  WorkerId id;
  std::optional<unsigned> slot;  // none: a spare, or on its way to be one
  Generation generation;
  WorkerState state = WorkerState::booting;
  MonotonicTime since{};
  MonotonicTime deadline = never;
  Decision decision = Keep{};  // the recycler's latest word, a level and not an edge
};
struct WorkerTimeouts {
  Duration boot, graceful, kill_after;
};

struct Ready {};
struct Park {};
struct Assign {
  unsigned slot;
};
struct Retire {
  MonotonicTime by = never;  // at the latest; `graceful` from now if that is sooner
};
struct Abandon {};  // it never served and nobody wants it any more
struct Quit {};     // quick stop
struct Hang {};
using WorkerEvent = std::variant<Ready, Park, Assign, Retire, Abandon, Quit, Hang, TimePassed>;

enum class Signal { abort, interrupt, terminate, kill };
struct Go {
  WorkerId id;
  unsigned slot;
};
struct SendRetire {
  WorkerId id;
  MonotonicTime deadline;
};
struct SendSignal {
  WorkerId id;
  Signal signal;
};
using WorkerAction = std::variant<Go, SendRetire, SendSignal>;

Worker boot(WorkerId, std::optional<unsigned> slot, Generation, const WorkerTimeouts&, MonotonicTime now);
Step<Worker, WorkerAction> transition(Worker, const WorkerEvent&, const WorkerTimeouts&, MonotonicTime now);
}  // namespace moult
