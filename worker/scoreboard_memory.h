#pragma once
// The memory behind a scoreboard. The master makes one (owner of the memfd, reads); a worker opens the one it was given
// (writes). Move-only; unmaps and closes when it goes.
#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "worker/scoreboard.h"
namespace moult {
class ScoreboardMemory {
 public:
  // Master: a sealed memfd with magic and version written. Fails with errno when memory or fds are short.
  static Result<ScoreboardMemory> create();
  // Worker: maps one that it was given. Refused when size, seals, magic or version are others.
  static Result<ScoreboardMemory> open(UniqueFd);

  ScoreboardMemory(ScoreboardMemory&&) noexcept;
  ScoreboardMemory& operator=(ScoreboardMemory&&) noexcept;
  ~ScoreboardMemory();

  int fd() const { return fd_.get(); }
  std::uint64_t read(ScoreboardField) const;         // relaxed atomic load
  void write(ScoreboardField, std::uint64_t value);  // relaxed atomic store; one writer a field

 private:
  ScoreboardMemory(UniqueFd, std::uint64_t* words);
  UniqueFd fd_;
  std::uint64_t* words_ = nullptr;
};
}  // namespace moult
