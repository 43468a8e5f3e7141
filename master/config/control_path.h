#pragma once
// Where the control socket of an instance lies, when --control does not say. Pure. Used by `moult run` and by the
// clients (`moult status -n NAME`), so that both look in the same place.
#include <sys/types.h>

#include <string>

#include "master/config/settings.h"
namespace moult {
// $XDG_RUNTIME_DIR/moult/NAME.sock; without it /run/moult/NAME.sock for root, /tmp/moult-UID/NAME.sock for others.
std::string default_control_path(const std::string& name, const Environment&, uid_t);
}  // namespace moult
