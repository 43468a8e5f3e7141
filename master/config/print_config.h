#pragma once
// The answer to --print-config: a config file that says the same, with a comment on each line about where its value
// came from. Pure. Fed back by -c it gives the same Config; only a secret has to be given again.
#include <string>

#include "master/config/settings.h"
namespace moult {
// `listeners_are_passed`: no -b, since systemd passes the sockets.
std::string print_config(const Settings&, bool listeners_are_passed);
}  // namespace moult
