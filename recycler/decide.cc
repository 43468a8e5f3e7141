#include "recycler/decide.h"

#include <algorithm>
#include <optional>
namespace moult {
namespace {
struct Wish {
  Cause cause;
  Urgency urgency;
  MonotonicTime since;
};

Duration for_how_long(MonotonicTime since, MonotonicTime now) { return since == never ? Duration{} : now - since; }

const Pressure* pressure_on(const WorkerRecord& record, const InstanceReading& instance) {
  return instance.pressure && instance.pressure->victim == record.worker ? &*instance.pressure : nullptr;
}

Evidence evidence(const WorkerRecord& record, const InstanceReading& instance, MonotonicTime now) {
  Evidence e;
  e.rss_bytes = record.rss_bytes;
  e.limit_bytes = record.limit_bytes;
  e.hard_limit_bytes = record.hard_limit_bytes;
  e.boot_rss_bytes = record.boot_rss_bytes;
  e.headroom_bytes = instance.headroom_bytes;
  e.requests = record.requests;
  e.over_limit = for_how_long(record.over_limit_since, now);
  e.over_hard = for_how_long(record.over_hard_since, now);
  e.lifetime = now - record.ready_at;
  e.requests_per_second = record.requests_per_second;
  e.growth_bytes_per_second = record.growth_bytes_per_second;
  if (const Pressure* pressure = pressure_on(record, instance)) {
    e.frees_bytes = pressure->frees_bytes;
    e.needs_bytes = pressure->needs_bytes;
  }
  return e;
}

// The most urgent reason to go.
std::optional<Wish> wish(const WorkerRecord& record, const InstanceReading& instance, const RecyclePolicy& policy,
                         MonotonicTime now) {
  const Pressure* pressure = pressure_on(record, instance);
  if (pressure && !pressure->held) return Wish{Cause::pressure, Urgency::pressure, now};
  if (record.over_hard_since != never) return Wish{Cause::hard_limit, Urgency::hard_limit, record.over_hard_since};
  if (const auto cause = routine_cause(record, policy, now))
    return Wish{*cause, Urgency::routine, std::min(record.due_since, now)};
  return std::nullopt;
}

bool busy(const WorkerRecord& record, const RecyclePolicy& policy) {
  return policy.busy_requests_per_second > 0 && record.requests_per_second >= policy.busy_requests_per_second;
}

// It does not have to go; but does something wait?
Decision keep(const WorkerRecord& record, const InstanceReading& instance, const RecyclePolicy& policy,
              MonotonicTime now) {
  const Pressure* pressure = pressure_on(record, instance);
  if (pressure) return Hold{*pressure->held, pressure->until, evidence(record, instance, now)};
  if (record.readings_over > 0)
    return Hold{HoldReason::second_reading, record.read_at + policy.sample_near, evidence(record, instance, now)};
  return Keep{};
}
}  // namespace

Decision decide(const WorkerRecord& record, const InstanceReading& instance, const RecyclePolicy& policy,
                MonotonicTime now) {
  const std::optional<Wish> wants = wish(record, instance, policy, now);
  if (!wants) return keep(record, instance, policy, now);
  const UrgencyRules& rules = policy.rules(wants->urgency);
  Evidence known = evidence(record, instance, now);
  known.cooldown = rules.cooldown;
  const MonotonicTime cool = cooldown_end(instance.last_recycle_at, rules);
  if (now < cool) return Hold{HoldReason::cooldown, cool, known};
  // The deferral begins when nothing else holds it back any more, so that it is not used up by the cooldown.
  const MonotonicTime deferred_until = std::max(wants->since, cool) + policy.defer_max;
  if (rules.waits_for_idle && busy(record, policy) && now < deferred_until)
    return Hold{HoldReason::busy, deferred_until, known};
  return Recycle{wants->cause, wants->urgency, known};
}
}  // namespace moult
