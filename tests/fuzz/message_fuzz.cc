// The parser of everything that workers, fork servers and foreign programs send. With clang:
//   clang++ -std=c++20 -I. -fsanitize=fuzzer,address,undefined tests/fuzz/message_fuzz.cc worker/message.cc
// tests/unit/worker/message_fuzz_test.cc runs it over random input in every test run.
#include <cstdint>
#include <cstdlib>

#include "worker/message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moult;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto message = parse(text)) {
    if (message->lines().empty() || message->lines().size() > max_message_lines) std::abort();
    // What was understood can be said again, and means the same.
    const auto datagram = serialise(*message);
    if (!datagram || datagram->size() > text.size()) std::abort();
    const auto again = parse(*datagram);
    if (!again || *again != *message) std::abort();
    for (const auto& [key, value] : message->lines()) {
      if (!message->find(key)) std::abort();
      if (const auto number = message->find_number<std::uint64_t>(key))
        if (message->find(key)->empty()) std::abort();
    }
  }
  const std::string escaped = escape(text);
  if (escaped.size() > max_escaped_bytes || !serialise({{"ERROR", escaped}})) std::abort();
  if (size <= max_escaped_bytes / 2 && unescape(escaped) != text) std::abort();
  static_cast<void>(unescape(text));
  if (!serialise({{"STATUS", one_line(text)}})) std::abort();
  return 0;
}
