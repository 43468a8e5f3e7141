#pragma once
// A worker's link that does what the test says, and notes what it is told.
#include <fcntl.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "master/pool/worker_link.h"
namespace moult {
struct ScriptedLink final : WorkerLink {
  std::vector<std::string>& said;
  bool open = true;
  std::optional<MonotonicTime> beat;
  std::map<ConnectionId, UniqueFd> passed;  // what the worker has of it
  explicit ScriptedLink(std::vector<std::string>& words) : said(words) {}
  void go(unsigned) override {}
  void retire(MonotonicTime, Adopters) override {}
  void signal(int) override {}
  void reopen_logs() override {}
  pid_t pid() const override { return 1; }
  const ScoreboardMemory* scoreboard() const override { return nullptr; }
  std::optional<MonotonicTime> heartbeat() const override { return beat; }
  bool adopts() const override { return open; }
  bool adopt(ConnectionId id, int fd) override {
    if (!open) return false;
    said.push_back("ADOPT=" + std::to_string(id.value));
    passed[id] = UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));  // as the kernel does
    return true;
  }
  void hold(std::uint64_t number) override { said.push_back("HELD=" + std::to_string(number)); }
  void take_to_close(std::uint64_t number) override { said.push_back("CLOSES=" + std::to_string(number)); }
  void decline(std::uint64_t number) override { said.push_back("DECLINED=" + std::to_string(number)); }
};
}  // namespace moult
