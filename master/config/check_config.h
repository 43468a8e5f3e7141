#pragma once
// Flags that do not go together. check_config() looks whether the files of TLS can be read and those that moult writes
// can be written, all else is pure.
#include <string>
#include <vector>

#include "base/result.h"
#include "master/config/config.h"
#include "master/config/settings.h"
namespace moult {
Result<void> check_config(const Config&, const Settings&);

// What was said and has no effect.
std::vector<std::string> warnings_about(const Config&, const Settings&);

bool is_loopback(const TcpAddress&);  // 127.0.0.0/8 or ::1
}  // namespace moult
