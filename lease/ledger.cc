#include "lease/ledger.h"

#include <algorithm>
#include <cmath>

#include "base/step.h"
namespace moult {
namespace {
using Microseconds = std::chrono::microseconds;

Microseconds micro(Duration d) { return std::chrono::duration_cast<Microseconds>(d); }

Duration ask_again(Urgency urgency) { return urgency == Urgency::routine ? ask_again_routine : ask_again_urgent; }

double full(const FleetPolicy& policy) { return policy.burst * credit_per_token; }

void refill(Ledger& ledger, const FleetPolicy& policy, StoreTime now) {
  if (ledger.refilled_at == StoreTime{}) {
    ledger.credit = full(policy);
  } else if (now > ledger.refilled_at) {
    const auto elapsed = static_cast<double>((now - ledger.refilled_at).count());
    ledger.credit = std::min(full(policy), ledger.credit + tokens_per_hour(ledger, policy) * elapsed);
  }
  ledger.refilled_at = now;
}

void expire_permits(Ledger& ledger, const FleetPolicy& policy, StoreTime now) {
  for (Permit& permit : ledger.permits) {
    permit.granted_at = std::min(permit.granted_at, now);
    permit.expires_at = std::min(permit.expires_at, now + micro(policy.ttl));
  }
  std::erase_if(ledger.permits, [&](const Permit& permit) { return now >= permit.expires_at; });
}

void forget_instances(Ledger& ledger, StoreTime now) {
  for (FleetMember& instance : ledger.instances) instance.heard_at = std::min(instance.heard_at, now);
  std::erase_if(ledger.instances,
                [&](const FleetMember& each) { return now - each.heard_at >= vanished_after + vanished_for; });
}

void hear(Ledger& ledger, const Heartbeat& heartbeat, StoreTime now) {
  const FleetMember heard{heartbeat.instance, heartbeat.wanted, heartbeat.healthy, now};
  auto known = std::ranges::find(ledger.instances, heartbeat.instance, &FleetMember::name);
  if (known == ledger.instances.end() && ledger.instances.size() >= most_instances)
    known = std::ranges::min_element(ledger.instances, {}, &FleetMember::heard_at);
  if (known == ledger.instances.end()) ledger.instances.push_back(heard);
  else *known = heard;
}

// A holder's own permits do not stand in the way of its urgent question: its pool bounds how many retire at once.
const Permit* in_the_way(const Ledger& ledger, const Acquire& ask, const FleetPolicy& policy) {
  const auto counts = [&](const Permit& p) { return ask.urgency == Urgency::routine || p.holder != ask.holder; };
  if (std::ranges::count_if(ledger.permits, counts) < static_cast<std::ptrdiff_t>(policy.permits)) return nullptr;
  const Permit* first = nullptr;
  for (const Permit& permit : ledger.permits)
    if (counts(permit) && (!first || permit.expires_at < first->expires_at)) first = &permit;
  return first;
}

bool below_minimum(const Ledger& ledger, unsigned cost, const FleetPolicy& policy, StoreTime now) {
  if (policy.minimum_healthy_percent == 0 || cost == 0) return false;
  const FleetHealth health = fleet_health(ledger, now);
  if (health.healthy < cost) return true;
  return std::uint64_t{100} * (health.healthy - cost) < std::uint64_t{policy.minimum_healthy_percent} * health.wanted;
}

// How long until the bucket holds enough for it; zero: it does.
Duration until_enough(const Ledger& ledger, Urgency urgency, const FleetPolicy& policy) {
  if (policy.rate_per == RatePer::unlimited) return {};
  const double least = credit_per_token - (urgency == Urgency::routine ? 0 : full(policy));
  if (ledger.credit >= least) return {};
  const double rate = tokens_per_hour(ledger, policy);
  const double wait = rate > 0 ? std::ceil((least - ledger.credit) / rate) : INFINITY;
  return Microseconds(static_cast<Microseconds::rep>(std::min(wait, static_cast<double>(micro(longest_hint).count()))));
}

Granted grant(Ledger& ledger, const Acquire& ask, const FleetPolicy& policy, StoreTime now) {
  const auto time = static_cast<std::uint64_t>(std::max(now.time_since_epoch(), Microseconds::zero()).count());
  const std::uint64_t token = std::max(ledger.last_fencing_token + 1, time);
  ledger.last_fencing_token = token;
  if (policy.rate_per != RatePer::unlimited) ledger.credit -= credit_per_token;
  ledger.permits.push_back(
      {ask.holder, ask.operation, token, ask.self.instance, ask.cost, now, now + micro(policy.ttl)});
  return {token, true, {}};
}

LedgerAnswer answer(Ledger& ledger, const Acquire& ask, const FleetPolicy& policy, StoreTime now) {
  const auto held = std::ranges::find_if(
      ledger.permits, [&](const Permit& p) { return p.holder == ask.holder && p.operation == ask.operation; });
  if (held != ledger.permits.end()) return Granted{held->token, true, {}};
  if (now >= ask.end) return Refused{Refusal::late, ask_again(ask.urgency)};
  hear(ledger, ask.self, now);
  // The minimum comes first: it is the one refusal that nothing overrides.
  if (below_minimum(ledger, ask.cost, policy, now)) return Refused{Refusal::below_minimum, ask_again(ask.urgency)};
  if (const Permit* permit = in_the_way(ledger, ask, policy))
    return Refused{Refusal::lease_held, std::min<Duration>(permit->expires_at - now, ask_again(ask.urgency))};
  if (const Duration wait = until_enough(ledger, ask.urgency, policy); wait > Duration::zero())
    return Refused{Refusal::no_tokens, wait};
  return grant(ledger, ask, policy, now);
}

// A token newer than any that was given here: this ledger was lost meanwhile, and the holder puts its lease back.
LedgerAnswer answer(Ledger& ledger, const Renew& renew, const FleetPolicy& policy, StoreTime now) {
  const StoreTime expires_at = now + micro(policy.ttl);
  for (Permit& permit : ledger.permits)
    if (permit.holder == renew.holder && permit.token == renew.token) {
      permit.expires_at = expires_at;
      return Done{};
    }
  if (renew.token <= ledger.last_fencing_token || ledger.permits.size() >= policy.permits)
    return Refused{Refusal::late, {}};
  ledger.last_fencing_token = renew.token;
  ledger.permits.push_back({renew.holder, {}, renew.token, {}, 1, now, expires_at});
  return Done{};
}

LedgerAnswer answer(Ledger& ledger, const Release& release, const FleetPolicy&, StoreTime) {
  std::erase_if(ledger.permits,
                [&](const Permit& p) { return p.holder == release.holder && p.token == release.token; });
  return Done{};
}

LedgerAnswer answer(Ledger& ledger, const Withdraw& withdraw, const FleetPolicy& policy, StoreTime) {
  const auto given_back = std::erase_if(ledger.permits, [&](const Permit& p) {
    return p.holder == withdraw.holder && p.operation == withdraw.operation;
  });
  if (policy.rate_per != RatePer::unlimited)
    ledger.credit = std::min(full(policy), ledger.credit + static_cast<double>(given_back) * credit_per_token);
  return Done{};
}

LedgerAnswer answer(Ledger& ledger, const Debit& debit, const FleetPolicy& policy, StoreTime) {
  if (policy.rate_per == RatePer::unlimited) return Done{};
  const double deepest = -full(policy) - longest_debt_hours * tokens_per_hour(ledger, policy) * credit_per_token;
  ledger.credit = std::max(std::min(ledger.credit, deepest), ledger.credit - debit.recycles * credit_per_token);
  return Done{};
}

LedgerAnswer answer(Ledger& ledger, const Heartbeat& heartbeat, const FleetPolicy&, StoreTime now) {
  hear(ledger, heartbeat, now);
  return Done{};
}
}  // namespace

FleetHealth fleet_health(const Ledger& ledger, StoreTime now) {
  FleetHealth fleet;
  for (const FleetMember& instance : ledger.instances) {
    fleet.wanted += instance.wanted;
    if (now - instance.heard_at >= vanished_after) continue;
    unsigned away = 0;  // granted since it last spoke, so not yet in what it said
    for (const Permit& permit : ledger.permits)
      if (permit.instance == instance.name && permit.granted_at >= instance.heard_at) away += permit.cost;
    const unsigned serve = std::min(instance.healthy, instance.wanted);  // one's surplus does not make up for another
    fleet.healthy += serve - std::min(serve, away);
  }
  return fleet;
}

double tokens_per_hour(const Ledger& ledger, const FleetPolicy& policy) {
  if (policy.rate_per != RatePer::worker) return policy.tokens_per_hour;
  double wanted = 0;
  for (const FleetMember& instance : ledger.instances) wanted += instance.wanted;
  return policy.tokens_per_hour * wanted;
}

LedgerStep apply(Ledger ledger, const LedgerRequest& request, const FleetPolicy& policy, StoreTime now) {
  refill(ledger, policy, now);  // at the rate that held until now
  expire_permits(ledger, policy, now);
  forget_instances(ledger, now);
  LedgerAnswer said = std::visit([&](const auto& each) { return answer(ledger, each, policy, now); }, request);
  return {std::move(ledger), std::move(said)};
}
}  // namespace moult
