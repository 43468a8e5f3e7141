#pragma once
// A store that greets like a good one and then answers each call as it is told: what no real one can be made to say
// reliably.
#include <string>
#include <vector>

#include "lease/redis_reply.h"
#include "tests/store/poll_thread.h"
namespace moult {
class FakeStore {
 public:
  // The bytes of an answer to a call; empty: it hangs up.
  using Answer = std::function<std::string(const std::vector<std::string>& words)>;

  explicit FakeStore(Answer answer, bool greets = true)
      : thread_([answer = std::move(answer), greets](UniqueFd caller) {
          return std::make_unique<Client>(std::move(caller), answer, greets);
        }) {}
  std::uint16_t port() const { return thread_.port(); }

 private:
  struct Client final : Guest {
    Client(UniqueFd caller, Answer says, bool greeting)
        : socket(std::move(caller)), answer(std::move(says)), greets(greeting) {}
    std::vector<int> descriptors() const override { return {socket.get()}; }
    bool readable(int fd) override {
      char bytes[65536];
      const ssize_t length = ::recv(fd, bytes, sizeof bytes, 0);
      if (length <= 0) return false;
      commands.feed({bytes, static_cast<std::size_t>(length)});
      while (const auto command = commands.next()) {
        const auto* words = *command ? (*command)->as<RedisReply::Array>() : nullptr;
        if (!words || !reply(*words)) return false;
      }
      return true;
    }
    bool reply(const RedisReply::Array& words) {
      std::vector<std::string> texts;
      for (const RedisReply& word : words) texts.push_back(*word.as<std::string>());
      const std::string said = greets ? greeting(texts.front()) : "";
      const std::string bytes = said.empty() ? answer(texts) : said;
      return !bytes.empty() && ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0;
    }
    static std::string greeting(const std::string& word) {
      if (word == "TIME") return "*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n";
      return word == "AUTH" || word == "SELECT" || word == "CLIENT" ? "+OK\r\n" : "";
    }
    UniqueFd socket;
    Answer answer;
    bool greets;
    RedisReplies commands;
  };
  PollThread thread_;
};
}  // namespace moult
