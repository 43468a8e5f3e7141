// Throws bytes at everything that reads what a client of the control socket sends, or what an app can put into the
// status document: frames, commands, the table for people. Nothing may throw, and a frame must come out the same
// however its bytes were cut.
//
// With a fuzzing engine: -DMOULT_FUZZING_ENGINE -fsanitize=fuzzer. Without one: `control_frame_fuzz [RUNS [SEED]]`
// bends the seeds below RUNS times, the same way for the same SEED.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "master/control/command.h"
#include "master/control/control_frame.h"
#include "master/control/status_table.h"
namespace {
using namespace moult;

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "control_frame_fuzz: not so: %s\n", what);
  std::abort();
}

// What came out, as text: frames and errors alike.
std::vector<std::string> read_frames(std::string_view bytes, std::size_t piece, std::size_t longest) {
  ControlFrames frames(longest);
  std::vector<std::string> out;
  bool broken = false;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    frames.feed(bytes.substr(at, piece));
    while (const auto frame = frames.next()) {
      must(!broken, "nothing comes after an error");
      broken = !*frame;
      out.push_back(*frame ? frame_of(**frame) : frame->error().message);
      if (!*frame) continue;
      if (const auto command = parse_command(**frame))
        must(static_cast<bool>(parse_command(command_json(*command))), "a command is read back as it was written");
      must(!status_table(**frame, bytes.size() % 100).empty(), "there is always a table");
    }
  }
  return out;
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  constexpr std::size_t longest = 512;
  const auto whole = read_frames(bytes, size + 1, longest);
  must(read_frames(bytes, 1, longest) == whole, "single bytes give the same frames");
  must(read_frames(bytes, 7, longest) == whole, "pieces give the same frames");
  const std::string refusal = refusal_frame(bytes);
  must(refusal.find('\n') == refusal.size() - 1, "an answer is one line");
  return 0;
}

#ifndef MOULT_FUZZING_ENGINE
namespace {
const std::string seeds[] = {
    "{\"protocol\":1,\"command\":\"status\"}\n",
    "{\"protocol\":1,\"command\":\"scale\",\"workers\":3}\n{\"protocol\":1,\"command\":\"version\"}\n",
    "{\"protocol\":1,\"command\":\"stop\",\"quickly\":false,\"wait\":true}\n",
    "{\"protocol\":1,\"command\":\"reload\",\"wait\":true}\n",
    "{\"protocol\":1,\"wanted\":2,\"name\":\"web\",\"uptime_seconds\":1e3,\"boot_error\":\"a\\nb\",\"workers\":"
    "[{\"slot\":0,\"pid\":7,\"state\":\"serving\",\"uptime_seconds\":3.5,\"requests\":9}]}\n"};

std::string bent(std::string text, Random& random) {
  static const std::string tokens[] = {
      "\n", "\"", "{", "}", "[", "null", "-1", "1e999", "\xff", "\\ud800", "\"protocol\":2"};
  for (std::uint64_t changes = random.next() % 6; changes > 0; --changes) {
    const std::size_t at = random.next() % (text.size() + 1);
    switch (random.next() % 4) {
      case 0: text.insert(at, tokens[random.next() % std::size(tokens)]); break;
      case 1: text.erase(at, random.next() % 8); break;
      case 2: text.insert(at, text.substr(random.next() % (text.size() + 1), random.next() % 300)); break;
      default: text.insert(at, 1, static_cast<char>(random.next())); break;
    }
  }
  return text;
}
}  // namespace

int main(int argc, char** argv) {
  const unsigned long runs = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20'000;
  Random random{argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1};
  for (unsigned long run = 0; run < runs; ++run) {
    std::string input;
    for (std::uint64_t parts = 1 + random.next() % 3; parts > 0; --parts)
      input += bent(seeds[random.next() % std::size(seeds)], random);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
  std::printf("%lu inputs, nothing found\n", runs);
  return 0;
}
#endif
