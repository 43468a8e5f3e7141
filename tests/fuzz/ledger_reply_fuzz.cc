// What a store might answer a gate with: any reply is read as an answer to the question, or refused with a sentence;
// what was read has no number out of its bounds.
//
// With a fuzzing engine: -DMOULT_FUZZING_ENGINE -fsanitize=fuzzer. Without one: `ledger_reply_fuzz [RUNS [SEED]]`
// builds replies that are bent a little, the same way for the same SEED.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/random.h"
#include "lease/ledger_script.h"
namespace {
using namespace moult;

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "ledger_reply_fuzz: not so: %s\n", what);
  std::abort();
}

// A small language for replies: each line is a field, '[' and ']' nest, and the first byte says of what kind.
RedisReply reply_from(std::string_view& text, int depth) {
  RedisReply::Array all;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line == "]") break;
    if (line == "[" && depth < 6) all.push_back(reply_from(text, depth + 1));
    else if (line == "nil") all.push_back({RedisNil{}});
    else if (line.starts_with(':')) all.push_back({static_cast<std::int64_t>(line.size())});
    else if (line.starts_with('-')) all.push_back({RedisError{"ERR", std::string(line)}});
    else all.push_back({std::string(line)});
  }
  return {std::move(all)};
}

const LedgerRequest questions[] = {Acquire{}, Renew{}, Release{}, Withdraw{}, Debit{}, Heartbeat{}, Look{}};
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto settings = read_settings_words(text.substr(0, text.find('\n')));
  if (settings) must(*read_settings_words(settings_words(*settings)) == *settings, "settings come back");
  const RedisReply reply = reply_from(text, 0);
  for (const LedgerRequest& question : questions) {
    const auto read = read_ledger_reply(reply, question);
    if (!read) {
      must(!read.error().message.empty(), "an error says something");
      continue;
    }
    if (const auto* refused = std::get_if<Refused>(&read->answer))
      must(refused->retry_after >= Duration::zero() && refused->retry_after <= longest_hint, "a hint is bounded");
    if (const auto* view = std::get_if<FleetView>(&read->answer)) {
      must(std::isfinite(view->tokens) && std::isfinite(view->tokens_per_hour), "numbers are numbers");
      for (const FleetMember& member : view->members) {
        static_cast<void>(vanished(member, view->now));
        must(settings_that_differ(member.policy, view->ruling.policy).size() < 1024, "disagreement is bounded");
      }
    }
  }
  return 0;
}

#ifndef MOULT_FUZZING_ENGINE
namespace {
const std::string seeds[] = {
    "1790000000000001\n120000000\n3600000000\ngranted\n1790000000000001\n",
    "1790000000000001\n120000000\n-5\nrefused\nlease_held\n200000\n", "1790000000000001\n120000000\n0.5\ndone\n",
    "1 120000000 1 worker 2 50\n",
    "1790000000000001\n120000000\n7200000000\nview\n12\n12\n11\n1 120000000 1 worker 2 50\nb\n1790000000000000\n"
    "[\n[\n17\n3\n1\n100\n200\nholder\nb\n]\n]\n[\n[\nb\n4\n3\n100\n50\nno_tokens\n90\n0\n2 1500000 0.5 fleet 4 "
    "50\n]\n]\n"};

std::string bent(std::string text, Random& random) {
  static const std::string tokens[] = {
      "\n",     "[\n",    "]\n", "nil\n", ":\n", "-ERR no\n", "-1", "1e999", "nan\n", "0x10", "99999999999999999999\n",
      "late\n", "view\n", "  ",  "\xff"};
  for (std::uint64_t changes = random.next() % 4; changes > 0; --changes) {
    const std::size_t at = random.next() % (text.size() + 1);
    switch (random.next() % 3) {
      case 0: text.insert(at, tokens[random.next() % std::size(tokens)]); break;
      case 1: text.erase(at, random.next() % 8); break;
      default: text.insert(at, 1, static_cast<char>(random.next())); break;
    }
  }
  return text;
}
}  // namespace

int main(int argc, char** argv) {
  const unsigned long runs = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000;
  Random random{argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1};
  for (unsigned long run = 0; run < runs; ++run) {
    const std::string input = bent(seeds[random.next() % std::size(seeds)], random);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
  std::printf("%lu inputs, nothing found\n", runs);
  return 0;
}
#endif
