#pragma once
// What this instance is doing, in one word for people, probes and the status. Pure.
//   booting    nothing has ever served
//   serving    the wanted code serves
//   reloading  newer code is on trial, or workers of older code still wait for their turn
//   stopping   a stop has begun; it never goes back
//   asleep     nobody calls: no worker is wanted
//   waking     somebody does, and no worker serves yet
#include <string_view>

#include "master/pool/supervisor.h"
#include "master/sleep/sleep_observer.h"
namespace moult {
enum class InstanceState { booting, serving, reloading, stopping, asleep, waking };
// Without an idle description: as if it were never put to sleep.
InstanceState instance_state(const SupervisorDescription&, const IdleDescription* = nullptr);
std::string_view name(InstanceState);
unsigned serving_workers(const SupervisorDescription&);
}  // namespace moult
