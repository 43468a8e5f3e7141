// What users write by hand: config files and environment files. With clang:
//   clang++ -std=c++20 -I. -fsanitize=fuzzer,address,undefined tests/fuzz/config_file_fuzz.cc master/config/*.cc
// tests/unit/config/config_file_fuzz_test.cc runs it over random input in every test run.
#include <cstdint>
#include <cstdlib>

#include "master/config/config_file.h"
#include "master/config/env_file.h"
#include "master/config/print_config.h"

namespace config_fuzz {
using namespace moult;

// Every value of every flag is either read or refused with a sentence, whatever the text.
inline bool all_values_are_good(const Settings& settings) {
  Config config;
  bool good = true;
  for (const auto& [name, setting] : settings) {
    const Flag* flag = find_flag(name);
    if (!flag || setting.values.empty() || setting.values.size() > most_values) std::abort();
    if (name == "env-file") continue;  // reads files
    for (const auto& value : setting.values) {
      const auto read = flag->type.read(config, value);
      if (!read && read.error().message.empty()) std::abort();
      good = good && read;
    }
  }
  return good;
}
}  // namespace config_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace config_fuzz;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto settings = parse_config_file(text, "fuzz");
  if (!settings && !settings.error().message.starts_with("fuzz: ")) std::abort();
  if (settings && all_values_are_good(*settings)) {
    const auto again = parse_config_file(print_config(*settings, false), "printed");
    if (!again) std::abort();
    for (const auto& [name, setting] : *settings) {
      const auto same = again->find(name);
      if (!find_flag(name)->secret && (same == again->end() || same->second.values.size() != setting.values.size()))
        std::abort();
    }
  }
  if (const auto variables = parse_env_file(text, "fuzz")) {
    if (variables->size() > size) std::abort();
    for (const auto& [name, value] : *variables)
      if (name.empty() || value.size() > size || value.find('\0') != std::string::npos) std::abort();
  }
  return 0;
}
