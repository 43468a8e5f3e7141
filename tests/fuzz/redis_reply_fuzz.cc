// Throws bytes at what reads a store's replies: truncated, huge, deep, of wrong types. Nothing may throw or go beyond
// its bounds, and replies must come out the same however their bytes were cut.
//
// With a fuzzing engine: -DMOULT_FUZZING_ENGINE -fsanitize=fuzzer. Without one: `redis_reply_fuzz [RUNS [SEED]]` bends
// the seeds below RUNS times, the same way for the same SEED.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/step.h"
#include "lease/redis_greeting.h"
#include "lease/redis_refusal.h"
#include "lease/redis_reply.h"
namespace {
using namespace moult;

constexpr ReplyBounds bounds{256, 16};

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "redis_reply_fuzz: not so: %s\n", what);
  std::abort();
}

std::string text_of(const RedisReply& reply, std::size_t depth = 0) {
  must(depth <= deepest_reply + 1, "a reply is no deeper than it may be");
  return std::visit(Match{[](const RedisNil&) { return std::string("nil"); },
                          [](const std::int64_t& number) { return std::to_string(number); },
                          [](const std::string& text) {
                            must(text.size() <= bounds.bytes, "a text is no longer than its reply may be");
                            return "'" + text + "'";
                          },
                          [](const RedisError& error) {
                            must(error.message.size() <= longest_error_bytes && error.message.starts_with(error.code),
                                 "an error begins with its code, and has a bound");
                            (void)refusal_of(error);
                            return "!" + error.message;
                          },
                          [&](const RedisReply::Array& array) {
                            must(array.size() <= bounds.elements, "there are no more elements than there may be");
                            std::string all = "[";
                            for (const RedisReply& each : array) all += text_of(each, depth + 1) + " ";
                            return all + "]";
                          }},
                    reply.value);
}

std::vector<std::string> read_replies(std::string_view bytes, std::size_t piece) {
  RedisReplies replies(bounds);
  std::vector<std::string> out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    replies.feed(bytes.substr(at, piece));
    while (const auto reply = replies.next()) {
      must(out.empty() || out.back() != "broken", "nothing comes after an error");
      out.push_back(*reply ? text_of(**reply) : "broken");
      if (!*reply) must(!reply->error().message.empty(), "an error says what is wrong");
      if (!*reply) continue;
      (void)read_time(**reply);
      for (const Greeting what : {Greeting::login, Greeting::database, Greeting::name, Greeting::time})
        (void)refusal_of(what, **reply);
    }
  }
  return out;
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // Byte by byte is the reference: what is too long is seen at the first byte too many.
  const auto single = read_replies(bytes, 1);
  must(read_replies(bytes, 7) == single, "pieces give the same replies");
  must(read_replies(bytes, size + 1) == single, "the whole gives the same replies");
  return 0;
}

#ifndef MOULT_FUZZING_ENGINE
namespace {
const std::string seeds[] = {"+OK\r\n",
                             ":42\r\n",
                             "$5\r\nhello\r\n",
                             "$-1\r\n",
                             "-NOSCRIPT No matching script.\r\n",
                             "*2\r\n$10\r\n1700000000\r\n$6\r\n123456\r\n",
                             "*3\r\n$7\r\ngranted\r\n:1700000000000000\r\n*2\r\n:1\r\n$-1\r\n",
                             "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"};

std::string bent(std::string text, Random& random) {
  static const std::string tokens[] = {"\r\n",
                                       "*",
                                       "$",
                                       "-",
                                       "+",
                                       ":",
                                       "*1\r\n",
                                       "*-1\r\n",
                                       "*2147483647\r\n",
                                       "$255\r\n",
                                       "$2147483647\r\n",
                                       "-1",
                                       "999",
                                       "%1\r\n",
                                       ",1.5\r\n",
                                       "\xff"};
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
  const unsigned long runs = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 300'000;
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
