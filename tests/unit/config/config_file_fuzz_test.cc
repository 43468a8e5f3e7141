// A bounded run of the fuzz target over input that is near to config files, repeatable from its seed.
#include <gtest/gtest.h>

#include <array>

#include "base/random.h"
#include "tests/fuzz/config_file_fuzz.cc"
namespace moult {
namespace {
// Mostly well-formed, so that the values are reached and not only nlohmann's parser.
std::string near_config(Random& random) {
  static constexpr std::array<std::string_view, 24> values{"1",
                                                           "-1",
                                                           "4.5",
                                                           "1e400",
                                                           "\"30s\"",
                                                           "\"off\"",
                                                           "true",
                                                           "null",
                                                           "[]",
                                                           "{}",
                                                           "\"a:b()\"",
                                                           "[\":80\"]",
                                                           "\"\"",
                                                           "[\"\"]",
                                                           "{\"A\":1}",
                                                           "\"%\"",
                                                           "[null]",
                                                           "\"\\u0000\"",
                                                           "\"\\ud83d\\ude00\"",
                                                           "\"unix:x?mode=9\"",
                                                           "\"[::1]:\"",
                                                           "{\"\":\"\"}",
                                                           "// x\n1",
                                                           "\"\xff\""};
  std::string text = "{";
  for (std::uint64_t left = random.next() % 4; left > 0; --left) {
    text += "\"" + std::string(flags()[random.next() % flags().size()].name) + "\":";
    text += values[random.next() % values.size()];
    if (left > 1) text += ",";
  }
  text += "}";
  for (std::uint64_t left = random.next() % 3; left > 1; --left)
    text[random.next() % text.size()] = static_cast<char>(random.next() % 256);
  return text;
}
std::string near_variables(Random& random) {
  static constexpr std::array<std::string_view, 12> pieces{"A",       "=",  "\n", "'", "\"", "\\",
                                                           "export ", " #", "#",  "b", "\r", "\t"};
  std::string text;
  for (std::uint64_t left = random.next() % 24; left > 0; --left) text += pieces[random.next() % pieces.size()];
  return text;
}

TEST(ConfigFileFuzz, HoldsOver20000RandomInputs) {
  Random random{20'240'602};
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = i % 2 ? near_config(random) : near_variables(random);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
}
}  // namespace
}  // namespace moult
