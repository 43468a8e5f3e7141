#pragma once
// What was said about each flag, still as text, and where: the step between the three sources and Config.
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "master/config/flags.h"
namespace moult {
struct Setting {
  std::vector<std::string> values;  // one, unless the flag is a list or pairs
  std::string origin;               // as a person looks for it: "--workers", "PORT", "moult.json: workers"
};
using Settings = std::map<std::string, Setting, std::less<>>;  // by the flag's name
using Environment = std::map<std::string, std::string>;

inline constexpr std::size_t most_values = 1024;  // of one flag

// What stands in `stronger` hides the same flag in `weaker`, with all its values; and since there is one app only, an
// app or a command hides both.
Settings merged(Settings stronger, Settings weaker);

// Both an app and a command in one source: which is meant?
Result<void> check_one_app(const Settings& of_one_source);
}  // namespace moult
