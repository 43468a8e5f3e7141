#pragma once
// The config file of -c, as settings: one JSON object whose keys are the flags without their dashes. Comments are
// allowed. Pure: the caller reads the file.
//
//   { "bind": ["0.0.0.0:8000"], "workers": 4, "graceful-timeout": "1m", "env": {"STAGE": "live"}, "app": "shop:app" }
//
// Refused, with the file, the key and what is right: a key that is unknown or stands there twice, a value of another
// type, null, an empty list, a command whose words stand in one text.
#include <string>
#include <string_view>

#include "base/result.h"
#include "master/config/settings.h"
namespace moult {
Result<Settings> parse_config_file(std::string_view text, const std::string& name);
}  // namespace moult
