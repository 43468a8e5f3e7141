// Where the fleet's ledger is, from the command line: part of instance_options.h.
#include <unistd.h>

#include <random>

#include "lease/redis_password.h"
#include "lease/tls.h"
#include "master/instance_options.h"
namespace moult::options {
namespace {
// The host's name and the control socket: no other master that lives has both, and a restart has them again.
std::string instance_name(const Config& config) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return std::string(host) + ":" + config.control.path;
}

std::string store_name(const FleetConfig& fleet) { return fleet.store ? printable(*fleet.store) : "local"; }

std::uint64_t drawn_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

Result<RedisOptions> connection(const FleetConfig& fleet) {
  auto address = with_password(*fleet.store, fleet.password ? fleet.password->c_str() : nullptr);
  if (!address) return Error{"--fleet: " + address.error().message};
  RedisOptions options{.address = *std::move(address), .tls = nullptr, .client_name = "moult", .seed = drawn_seed()};
  if (options.address.kind != RedisAddress::Kind::tls) return options;
  auto tls = TlsContext::make(fleet.ca.value_or(""));
  if (!tls) return tls.error();  // it names --fleet-ca
  options.tls = *std::move(tls);
  return options;
}
}  // namespace

Result<GateOptions> gate(const Config& config, Reporting& reporting) {
  GateOptions options{fleet(config), instance_name(config), std::nullopt};
  if (!config.fleet.store) return options;
  auto to = connection(config.fleet);
  if (!to) return to.error();
  const auto news = [&log = reporting.log(), names = fleet_names(config)](const StoreNews& said) {
    const std::string so = ", so only urgent replacements go on: " + said.why;
    switch (said.kind) {
      case StoreNews::Kind::joined: return log.info("joined the fleet " + names.fleet + " at " + names.store);
      case StoreNews::Kind::answers_again: return log.info("the fleet's store answers again: " + names.store);
      case StoreNews::Kind::silent: return log.warning("the fleet's store does not answer" + so);
      case StoreNews::Kind::refuses: return log.warning("the fleet's store refuses" + so);
    }
  };
  const auto lease_lost = [&reporting] {
    reporting.log().warning(
        "the fleet's lease was lost while a worker is being replaced, so another instance may replace one at the same "
        "time: this process or the store stood still for longer than --lease-ttl, or the store lost its memory");
  };
  options.store = FleetStore{*std::move(to), config.fleet.name, config.fleet.urgent_wait, news, lease_lost};
  return options;
}

Result<void> readable(const Config& config) {
  if (!config.fleet.store) return {};
  const auto to = connection(config.fleet);
  return to ? Result<void>() : to.error();
}

FleetNames fleet_names(const Config& config) {
  return {config.fleet.store ? config.fleet.name : config.process.name, store_name(config.fleet)};
}
}  // namespace moult::options
