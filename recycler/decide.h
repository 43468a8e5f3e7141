#pragma once
// Must this worker go, and why, and if not yet, why not and until when? Pure. Called by memory_watch after each look;
// the answer is a level: the next one overwrites it. That it must go is no permission: the pool asks the gate.
#include <cstdint>
#include <variant>

#include "base/clock.h"
#include "base/ids.h"
#include "base/urgency.h"
#include "recycler/cooldown.h"
#include "recycler/policy.h"
#include "recycler/reading.h"
#include "recycler/reason.h"
#include "recycler/record.h"
#include "recycler/sampling.h"
#include "recycler/victim.h"
namespace moult {
// What was known when it was decided: enough to explain the decision from its event line alone.
struct Evidence {
  std::uint64_t rss_bytes = 0, limit_bytes = 0, hard_limit_bytes = 0, boot_rss_bytes = 0, headroom_bytes = 0,
                requests = 0;
  Duration over_limit{}, over_hard{};  // for how long, by the readings
  Duration lifetime{};                 // since READY
  double requests_per_second = 0, growth_bytes_per_second = 0;
  std::uint64_t frees_bytes = 0, needs_bytes = 0;  // under pressure: what its replacement would free, and must
  Duration cooldown{};                             // the effective one
};
struct Keep {};
struct Hold {
  HoldReason why;
  MonotonicTime until;  // it ends or is judged again by then
  Evidence evidence;
};
struct Recycle {
  Cause cause;
  Urgency urgency;
  Evidence evidence;
};
using Decision = std::variant<Keep, Hold, Recycle>;

Decision decide(const WorkerRecord&, const InstanceReading&, const RecyclePolicy&, MonotonicTime now);
}  // namespace moult
