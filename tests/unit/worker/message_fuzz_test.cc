// A bounded run of the fuzz target over input that is near to messages, repeatable from its seed.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/random.h"
#include "tests/fuzz/message_fuzz.cc"

namespace moult {
namespace {
std::string near_message(Random& random) {
  static constexpr std::array<std::string_view, 16> pieces{
      "READY=1", "DRAIN=",   "\n", "=", "STATUS=", "ADOPT=18446744073709551615", "A",   "_9Z=", "\\",
      "\\n",     "READY\n=", "a=", " ", "\r\n",    "DEADLINE_USEC=-1",           "\xff"};
  std::string text;
  for (std::uint64_t left = random.next() % 24; left > 0; --left) {
    if (random.next() % 8 == 0) text += static_cast<char>(random.next() % 256);
    else if (random.next() % 200 == 0) text += std::string(random.next() % 70'000, 'x');
    else text += pieces[random.next() % pieces.size()];
  }
  return text;
}

TEST(MessageFuzz, HoldsOver5000RandomInputs) {
  Random random{20'240'601};
  for (int i = 0; i < 5'000; ++i) {
    const std::string text = near_message(random);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
}
}  // namespace
}  // namespace moult
