#pragma once
// The command line in each part's own words. Called by Instance alone; translates, decides nothing.
#include <string>

#include "lease/make_gate.h"
#include "master/config/config.h"
#include "master/connections/doors.h"
#include "master/control/controls.h"
#include "master/launch/hook.h"
#include "master/launch/installed_parts.h"
#include "master/launch/make_launcher.h"
#include "master/pool/health.h"
#include "master/pool/supervisor.h"
#include "master/recycling/memory_watch.h"
#include "master/report/fleet_json.h"
#include "master/report/reporting.h"
namespace moult {
struct DeliveryPolicy;
struct ParkingPolicy;
struct WhileAsleep;
}  // namespace moult
namespace moult::options {
ReportOptions report(const Config&, const std::string& version, const ServiceManagerSettings&);
std::string private_folder(const Config&);  // that of the control socket
ListenerOptions listeners(const Config&);
LaunchOptions launch(const Config&, const Doors&, const InstalledParts&, std::optional<rlim_t> open_files_before,
                     Reporting&);
SupervisorPolicy supervisor(const Config&);
ParkingPolicy parking(const Config&);                 // after raise_open_files()
std::vector<std::string> parking_cut(const Config&);  // the same: a line, if --parking-max cannot be had
WhileAsleep while_asleep(const Config&);
std::size_t descriptors_of_a_wake(const Config&);  // beside those of one launch: of all workers that it brings
DeliveryPolicy delivery(const Config&);
MemoryWatchOptions recycling(const Config&);
FleetPolicy fleet(const Config&);
// Reads the password's and the authority's file. What becomes of the store is said in the log.
Result<GateOptions> gate(const Config&, Reporting&);
// Whether those files can be read and are what they should be: for --check-config, since a pipe can be read only once.
Result<void> readable(const Config&);
FleetNames fleet_names(const Config&);
// Whether one of so many workers could be replaced, as --min-healthy is. What a fleet has, no instance knows.
std::function<Result<void>(unsigned workers)> affordable(const Config&);
// What config/ cannot check because it knows nothing of the recycler and the ledger. One sentence that names the flag.
Result<void> checked(const Config&);
// For --check-config: asks the user's server, in a process of its own that does not load the app.
Result<void> server_takes_its_settings(const Config&);
std::vector<std::string> saturation(const Config&);  // what the settings permit at most, a line each
HookOptions alarm_hook(const Config&, std::optional<rlim_t> open_files_before, Reporting&);
IdlePolicy idle(const Config&);
HookOptions sleep_hook(const Config&, std::optional<rlim_t> open_files_before, Reporting&);
HookOptions wake_hook(const Config&, std::optional<rlim_t> open_files_before, Reporting&);
HealthPolicy health(const Config&);
ControlServerOptions control(const Config&, const std::string& version);
}  // namespace moult::options
