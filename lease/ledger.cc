#include "lease/ledger.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/step.h"
namespace moult {
namespace {
using Microseconds = std::chrono::microseconds;

Microseconds micro(Duration d) { return std::chrono::duration_cast<Microseconds>(d); }

Duration ask_again(Urgency urgency) { return urgency == Urgency::routine ? ask_again_routine : ask_again_urgent; }

double full(const FleetPolicy& policy) { return policy.burst * credit_per_token; }

double tokens_per_hour(const Ledger& ledger) {
  const FleetPolicy& policy = ledger.ruling.policy;
  if (policy.rate_per != RatePer::worker) return policy.tokens_per_hour;
  double wanted = 0;
  for (const FleetMember& instance : ledger.instances) wanted += instance.wanted;
  return policy.tokens_per_hour * wanted;
}

void refill(Ledger& ledger, StoreTime now) {
  if (now > ledger.refilled_at) {
    const auto elapsed = static_cast<double>((now - ledger.refilled_at).count());
    ledger.credit = std::min(full(ledger.ruling.policy), ledger.credit + tokens_per_hour(ledger) * elapsed);
  }
  ledger.refilled_at = now;
}

// Without its instance nobody may run with them any more: whoever offers next is heard.
void forget_settings_of(Ledger& ledger, const std::string& instance) {
  if (ledger.ruling.of == instance) ledger.ruling.since = {};
}

void forget_instances(Ledger& ledger, StoreTime now) {
  for (FleetMember& instance : ledger.instances) instance.heard_at = std::min(instance.heard_at, now);
  std::erase_if(ledger.instances, [&](const FleetMember& each) {
    const bool gone = now - each.heard_at >= vanished_after + vanished_for;
    if (gone) forget_settings_of(ledger, each.name);
    return gone;
  });
}

void expire_permits(Ledger& ledger, StoreTime now) {
  for (Permit& permit : ledger.permits) {
    permit.granted_at = std::min(permit.granted_at, now);
    permit.expires_at = std::min(permit.expires_at, now + micro(ledger.ruling.policy.ttl));
  }
  std::erase_if(ledger.permits, [&](const Permit& permit) { return now >= permit.expires_at; });
}

// The instance whose settings rule may also correct its own time: its clock was set, or it is a new master.
void adopt(Ledger& ledger, const FleetSettings& offered, StoreTime now) {
  FleetSettings& ruling = ledger.ruling;
  ruling.since = std::min(ruling.since, now);
  const StoreTime since = std::min(offered.since, now);
  if (since < ruling.since && offered.of != ruling.of) return;
  ruling = {offered.policy, offered.of, since};
}

void hear(Ledger& ledger, const Heartbeat& heartbeat, const FleetSettings& offered, StoreTime now) {
  FleetMember heard{heartbeat.instance,          heartbeat.wanted, heartbeat.healthy, now, offered.policy,
                    std::min(offered.since, now)};
  auto known = std::ranges::find(ledger.instances, heartbeat.instance, &FleetMember::name);
  if (known != ledger.instances.end()) {
    heard.last_refusal = known->last_refusal;
    heard.last_debit = known->last_debit;
  } else if (ledger.instances.size() >= most_instances) {
    const auto by_hearing = [](const FleetMember& each) { return std::tie(each.heard_at, each.name); };
    known = std::ranges::min_element(ledger.instances, {}, by_hearing);
    forget_settings_of(ledger, known->name);
  }
  if (known == ledger.instances.end()) ledger.instances.push_back(heard);
  else *known = heard;
}

FleetHealth fleet_health(const Ledger& ledger, StoreTime now) {
  FleetHealth fleet;
  for (const FleetMember& instance : ledger.instances) {
    fleet.wanted += instance.wanted;
    if (vanished(instance, now)) continue;
    unsigned away = 0;  // granted since it last spoke, so not yet in what it said
    for (const Permit& permit : ledger.permits)
      if (permit.instance == instance.name && permit.granted_at >= instance.heard_at) away += permit.cost;
    const unsigned serve = std::min(instance.healthy, instance.wanted);  // one's surplus does not make up for another
    fleet.healthy += serve - std::min(serve, away);
  }
  return fleet;
}

// A holder's own permits do not stand in the way of its urgent question: its pool bounds how many retire at once.
const Permit* in_the_way(const Ledger& ledger, const Acquire& ask) {
  const auto counts = [&](const Permit& p) { return ask.urgency == Urgency::routine || p.holder != ask.holder; };
  if (std::ranges::count_if(ledger.permits, counts) < static_cast<std::ptrdiff_t>(ledger.ruling.policy.permits))
    return nullptr;
  const Permit* first = nullptr;
  for (const Permit& permit : ledger.permits)
    if (counts(permit) && (!first || permit.expires_at < first->expires_at)) first = &permit;
  return first;
}

bool below_minimum(const Ledger& ledger, unsigned cost, StoreTime now) {
  const unsigned percent = ledger.ruling.policy.minimum_healthy_percent;
  if (percent == 0 || cost == 0) return false;
  const FleetHealth health = fleet_health(ledger, now);
  if (health.healthy < cost) return true;
  return 100 * (health.healthy - cost) < percent * health.wanted;
}

// How long until the bucket holds enough for it; zero: it does.
Duration until_enough(const Ledger& ledger, Urgency urgency) {
  const FleetPolicy& policy = ledger.ruling.policy;
  if (policy.rate_per == RatePer::unlimited) return {};
  const double least = credit_per_token - (urgency == Urgency::routine ? 0 : full(policy));
  if (ledger.credit >= least) return {};
  const double rate = tokens_per_hour(ledger);
  const double wait = rate > 0 ? std::ceil((least - ledger.credit) / rate) : INFINITY;
  return Microseconds(static_cast<Microseconds::rep>(std::min(wait, static_cast<double>(micro(longest_hint).count()))));
}

// What its token says, which is the time unless clocks were set or several fell into one microsecond.
StoreTime given_at(std::uint64_t token, StoreTime now) {
  const auto time = static_cast<std::uint64_t>(std::max(now.time_since_epoch(), Microseconds::zero()).count());
  return token < time ? StoreTime(Microseconds(static_cast<Microseconds::rep>(token))) : now;
}

Granted grant(Ledger& ledger, const Acquire& ask, StoreTime now) {
  const FleetPolicy& policy = ledger.ruling.policy;
  const auto time = static_cast<std::uint64_t>(std::max(now.time_since_epoch(), Microseconds::zero()).count());
  const std::uint64_t token = std::max(ledger.last_fencing_token + 1, time);
  ledger.last_fencing_token = token;
  if (policy.rate_per != RatePer::unlimited) ledger.credit -= credit_per_token;
  ledger.permits.push_back(
      {ask.holder, ask.operation, token, ask.self.instance, ask.cost, now, now + micro(policy.ttl)});
  return {token, true, {}};
}

std::optional<Refused> objection(const Ledger& ledger, const Acquire& ask, StoreTime now) {
  // The minimum comes first: it is the one refusal that nothing overrides.
  if (below_minimum(ledger, ask.cost, now)) return Refused{Refusal::below_minimum, ask_again(ask.urgency)};
  if (const Permit* permit = in_the_way(ledger, ask))
    return Refused{Refusal::lease_held, std::min<Duration>(permit->expires_at - now, ask_again(ask.urgency))};
  if (const Duration wait = until_enough(ledger, ask.urgency); wait > Duration::zero())
    return Refused{Refusal::no_tokens, wait};
  return std::nullopt;
}

// One request being answered: what it finds and may change.
struct Desk {
  Ledger& ledger;
  const FleetSettings& offered;
  StoreTime now;

  LedgerAnswer operator()(const Acquire& ask) {
    const auto held = std::ranges::find_if(
        ledger.permits, [&](const Permit& p) { return p.holder == ask.holder && p.operation == ask.operation; });
    if (held != ledger.permits.end()) return Granted{held->token, true, {}};
    if (now >= ask.end) return Refused{Refusal::late, ask_again(ask.urgency)};
    hear(ledger, ask.self, offered, now);
    const auto refused = objection(ledger, ask, now);
    if (!refused) return grant(ledger, ask, now);
    std::ranges::find(ledger.instances, ask.self.instance, &FleetMember::name)->last_refusal = {refused->why, now};
    return *refused;
  }

  // A token newer than any that was given here: this ledger was lost meanwhile, and the holder puts its lease back.
  LedgerAnswer operator()(const Renew& renew) {
    const StoreTime expires_at = now + micro(ledger.ruling.policy.ttl);
    for (Permit& permit : ledger.permits)
      if (permit.holder == renew.holder && permit.token == renew.token) {
        permit.expires_at = expires_at;
        return Done{};
      }
    if (renew.token <= ledger.last_fencing_token || ledger.permits.size() >= ledger.ruling.policy.permits)
      return Refused{Refusal::late, {}};
    ledger.last_fencing_token = renew.token;
    ledger.permits.push_back(
        {renew.holder, {}, renew.token, renew.instance, 1, given_at(renew.token, now), expires_at});
    return Done{};
  }

  LedgerAnswer operator()(const Release& release) {
    std::erase_if(ledger.permits,
                  [&](const Permit& p) { return p.holder == release.holder && p.token == release.token; });
    return Done{};
  }

  LedgerAnswer operator()(const Withdraw& withdraw) {
    const auto given_back = std::erase_if(ledger.permits, [&](const Permit& p) {
      return p.holder == withdraw.holder && p.operation == withdraw.operation;
    });
    const FleetPolicy& policy = ledger.ruling.policy;
    if (policy.rate_per != RatePer::unlimited)
      ledger.credit = std::min(full(policy), ledger.credit + static_cast<double>(given_back) * credit_per_token);
    return Done{};
  }

  LedgerAnswer operator()(const Debit& debit) {
    if (now >= debit.end) return Refused{Refusal::late, {}};
    const auto payer = std::ranges::find(ledger.instances, debit.instance, &FleetMember::name);
    if (debit.operation && payer != ledger.instances.end()) {
      if (payer->last_debit == debit.operation) return Done{};
      payer->last_debit = debit.operation;
    }
    const FleetPolicy& policy = ledger.ruling.policy;
    if (policy.rate_per == RatePer::unlimited) return Done{};
    const double deepest = -full(policy) - longest_debt_hours * tokens_per_hour(ledger) * credit_per_token;
    ledger.credit = std::max(std::min(ledger.credit, deepest), ledger.credit - debit.recycles * credit_per_token);
    return Done{};
  }

  LedgerAnswer operator()(const Heartbeat& heartbeat) {
    if (now >= heartbeat.end) return Refused{Refusal::late, {}};
    hear(ledger, heartbeat, offered, now);
    return Done{};
  }

  LedgerAnswer operator()(const Look&) {
    FleetView view{now,
                   ledger.ruling,
                   ledger.credit / credit_per_token,
                   tokens_per_hour(ledger),
                   fleet_health(ledger, now),
                   ledger.permits,
                   ledger.instances};
    std::ranges::sort(view.permits, {}, &Permit::token);
    std::ranges::sort(view.members, {}, &FleetMember::name);
    return view;
  }
};
}  // namespace

LedgerStep apply(Ledger ledger, const LedgerRequest& request, const FleetSettings& offered, StoreTime now) {
  const bool look = std::holds_alternative<Look>(request);
  std::optional<Ledger> untouched;
  if (look) untouched = ledger;
  if (ledger.refilled_at == StoreTime{}) {  // a new one: the first who asks rules, and the bucket is full
    ledger.ruling = {offered.policy, offered.of, std::min(offered.since, now)};
    ledger.credit = full(offered.policy);
  }
  refill(ledger, now);  // at the rate that held until now
  forget_instances(ledger, now);
  if (!look) adopt(ledger, offered, now);
  expire_permits(ledger, now);
  LedgerAnswer said = std::visit(Desk{ledger, offered, now}, request);
  return {look ? *std::move(untouched) : std::move(ledger), std::move(said)};
}
}  // namespace moult
