#pragma once
// The command line in each part's own words. Called by Instance alone; translates, decides nothing.
#include <string>

#include "master/config/config.h"
#include "master/connections/doors.h"
#include "master/control/controls.h"
#include "master/launch/installed_parts.h"
#include "master/launch/make_launcher.h"
#include "master/pool/health.h"
#include "master/pool/supervisor.h"
#include "master/report/reporting.h"
namespace moult::options {
ReportOptions report(const Config&, const std::string& version, const ServiceManagerSettings&);
std::string private_folder(const Config&);  // that of the control socket
ListenerOptions listeners(const Config&);
LaunchOptions launch(const Config&, const Doors&, const InstalledParts&, std::optional<rlim_t> open_files_before,
                     Reporting&);
SupervisorPolicy supervisor(const Config&);
HealthPolicy health(const Config&);
ControlServerOptions control(const Config&, const std::string& version);
}  // namespace moult::options
