// The rows of the flag table that say how often the fleet may replace a worker, and where its ledger is.
#include <algorithm>

#include "master/config/flag_types.h"
#include "master/config/in_quotes.h"
namespace moult {
namespace {
using namespace flag_type;
using namespace std::chrono_literals;

constexpr std::size_t longest_fleet_name_bytes = 100;  // a choice: it is part of the keys in the store

// 1/h/worker, 12/h, off.
Result<RecycleRate> parse_recycle_rate(std::string_view text) {
  if (text == "off") return RecycleRate{0, RecycleRate::Per::unlimited};
  const auto per = text.ends_with("/h/worker") ? RecycleRate::Per::worker : RecycleRate::Per::fleet;
  const std::string_view unit = per == RecycleRate::Per::worker ? "/h/worker" : "/h";
  if (!text.ends_with(unit)) return Error{in_quotes(text) + " is not a rate: N/h/worker, N/h for the fleet, or off"};
  const auto rate = parse_rate(text.substr(0, text.size() - unit.size()));
  if (!rate) return Error{in_quotes(text) + " is not a rate: N is a number above 0, at most 1000000; or say off"};
  return RecycleRate{*rate, per};
}

Result<std::optional<RedisAddress>> parse_store(std::string_view text) {
  if (text == "local") return std::optional<RedisAddress>();
  auto address = parse_redis_url(text);
  if (!address) return Error{address.error().message + "; or local"};
  return std::optional(*std::move(address));
}

std::string without_secrets(std::string_view text) {
  const auto address = parse_redis_url(text);
  return address ? without_password(*address) : std::string(text);
}

Result<std::string> parse_fleet_name(std::string_view text) {
  const auto fits = [](char c) { return c > ' ' && c < 127 && c != '{' && c != '}'; };
  if (!text.empty() && text.size() <= longest_fleet_name_bytes && std::ranges::all_of(text, fits))
    return std::string(text);
  return Error{in_quotes(text) + " is not a name: at most " + std::to_string(longest_fleet_name_bytes) +
               " letters, digits and signs, without blanks and braces"};
}
}  // namespace

std::vector<Flag> fleet_flags() {
  constexpr auto part = &Config::fleet;
  constexpr auto group = FlagGroup::fleet;
  return {
      {.name = "fleet",
       .metavar = "local|URL",
       .default_text = "local",
       .group = group,
       .help = "where the budget is kept: local is this instance's own; redis:// rediss:// redis+unix:// is shared",
       .type = reads(FlagShape::text, part, &FleetConfig::store, parse_store),
       .shown = without_secrets},
      {"fleet-name", 0, "NAME", "", group, "the fleet that shares it: the same for all instances of one app",
       reads(FlagShape::text, part, &FleetConfig::name, parse_fleet_name)},
      {.name = "fleet-password",
       .metavar = "PASSWORD",
       .group = group,
       .help = "of the store: as MOULT_FLEET_PASSWORD only",
       .type = text(part, &FleetConfig::password),
       .places = {Place::environment},
       .secret = true},
      {"fleet-ca", 0, "FILE", "", group,
       "trust the store's certificate by this file (default: the system's authorities)", text(part, &FleetConfig::ca)},
      {"urgent-wait", 0, "TIME", "2s", group, "how long an urgent replacement waits for the store and for its turn",
       time(part, &FleetConfig::urgent_wait, 0ms, 1h)},
      {"recycle-rate", 0, "RATE", "1/h/worker", group, "replacements an hour: N/h/worker, N/h, or off",
       reads(FlagShape::text, part, &FleetConfig::recycle_rate, parse_recycle_rate)},
      {"recycle-burst", 0, "N", "2", group, "how many may come at once after a quiet time",
       number(part, &FleetConfig::recycle_burst, 1, 1000)},
      {"min-healthy", 0, "PERCENT", "50%", group, "the share of workers that must serve while one is replaced",
       reads(FlagShape::text, part, &FleetConfig::min_healthy_percent, parse_whole_percent)},
      {"lease-permits", 0, "N", "1", group, "how many may be replaced at a time",
       number(part, &FleetConfig::lease_permits, 1, 1024)},
      {"lease-ttl", 0, "TIME", "120s", group, "a replacement that nobody renews gives its place back after this",
       time(part, &FleetConfig::lease_ttl, 1s, 24h)},
  };
}
}  // namespace moult
