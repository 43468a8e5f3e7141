#pragma once
// What a store keeps of a ledger, read raw from its keys, by other code than the script's; and a ledger to compare.
#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include "tests/contract/ledger_in_redis.h"
namespace moult {
struct StoredLedger {
  Ledger ledger;
  FleetHealth sums;  // as the script keeps them up: of those that have not vanished, leases not counted
  std::uint64_t count = 0;
};

namespace stored {
using Hash = std::map<std::string, std::string>;

inline Hash pairs(const RedisReply& flat) {
  Hash hash;
  const auto& all = std::get<RedisReply::Array>(flat.value);
  for (std::size_t i = 0; i + 1 < all.size(); i += 2)
    hash[std::get<std::string>(all[i].value)] = std::get<std::string>(all[i + 1].value);
  return hash;
}
inline StoreTime time(const std::string& text) { return StoreTime(std::chrono::microseconds(std::stoll(text))); }

inline FleetPolicy policy(const std::string& words) {
  std::istringstream in(words);
  FleetPolicy policy;
  std::int64_t ttl = 0;
  std::string rate, per;
  in >> policy.permits >> ttl >> rate >> per >> policy.burst >> policy.minimum_healthy_percent;
  policy.ttl = std::chrono::microseconds(ttl);
  policy.tokens_per_hour = std::stod(rate);
  policy.rate_per = per == "worker" ? RatePer::worker : per == "fleet" ? RatePer::fleet : RatePer::unlimited;
  return policy;
}

inline Permit permit(const std::string& token, const std::string& text) {
  std::istringstream in(text);
  Permit permit{};
  std::string granted, expires;
  std::size_t holder = 0;
  in >> permit.operation.value >> permit.cost >> granted >> expires >> holder;
  const std::string names = text.substr(static_cast<std::size_t>(in.tellg()) + 1);
  permit.token = std::stoull(token);
  permit.granted_at = time(granted);
  permit.expires_at = time(expires);
  permit.holder = names.substr(0, holder);
  permit.instance = names.substr(holder);
  return permit;
}

inline FleetMember member(const std::string& name, const std::string& text, const std::string& heard) {
  std::istringstream in(text);
  FleetMember member{name, 0, 0, time(heard)};
  std::string why, at, started, settings;
  in >> member.wanted >> member.healthy >> why >> at >> member.last_debit.value >> started;
  std::getline(in, settings);
  member.started = time(started);
  member.policy = policy(settings);
  for (const Refusal each : {Refusal::lease_held, Refusal::no_tokens, Refusal::below_minimum})
    if (why == moult::name(each)) member.last_refusal = {each, time(at)};
  return member;
}
}  // namespace stored

// Asked for in one go with the question before, so that the state is that question's.
inline void ask_for_stored_ledger(RedisClient& client, const std::string& fleet) {
  const auto keys = ledger_keys(fleet);
  for (int i = 0; i < 3; ++i) client.send({"HGETALL", keys[i]});
  client.send({"ZRANGE", keys[3], "0", "-1", "WITHSCORES"});
}

inline StoredLedger receive_stored_ledger(RedisClient& client) {
  using namespace stored;
  Hash head = pairs(client.receive());
  const Hash permits = pairs(client.receive()), members = pairs(client.receive()), heard = pairs(client.receive());
  StoredLedger read;
  if (head.empty()) return read;
  read.ledger.ruling = {policy(head["settings"]), head["settings_of"], time(head["settings_since"])};
  read.ledger.credit = std::stod(head["credit"]);
  read.ledger.refilled_at = time(head["refilled_at"]);
  read.ledger.last_fencing_token = std::stoull(head["fencing"]);
  for (const auto& [token, text] : permits) read.ledger.permits.push_back(permit(token, text));
  for (const auto& [name, text] : members) read.ledger.instances.push_back(member(name, text, heard.at(name)));
  read.sums = {std::stoull(head["wanted"]), std::stoull(head["serving"])};
  read.count = std::stoull(head["count"]);
  return read;
}

// One text for the whole state, equal if and only if it is: orders that do not matter are put in order.
inline std::string whole_state(Ledger ledger) {
  std::ranges::sort(ledger.permits, {}, &Permit::token);
  std::ranges::sort(ledger.instances, {}, &FleetMember::name);
  std::ostringstream out;
  out.precision(17);
  const auto time = [](StoreTime t) { return t.time_since_epoch().count(); };
  out << "ruling " << settings_words(ledger.ruling.policy) << " of " << ledger.ruling.of << " since "
      << time(ledger.ruling.since) << "\ncredit " << ledger.credit << " at " << time(ledger.refilled_at) << "\nfencing "
      << ledger.last_fencing_token << "\n";
  for (const Permit& p : ledger.permits)
    out << "permit " << p.token << " of " << p.holder << " operation " << p.operation.value << " in " << p.instance
        << " cost " << p.cost << " from " << time(p.granted_at) << " to " << time(p.expires_at) << "\n";
  for (const FleetMember& m : ledger.instances) {
    out << "member " << m.name << " " << m.healthy << "/" << m.wanted << " heard " << time(m.heard_at) << " started "
        << time(m.started) << " debit " << m.last_debit.value << " runs " << settings_words(m.policy);
    if (m.last_refusal) out << " " << name(m.last_refusal->why) << " at " << time(m.last_refusal->at);
    out << "\n";
  }
  return out.str();
}
}  // namespace moult
