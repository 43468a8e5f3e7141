#pragma once
// The wall clock of a program that a test starts with shifted_clock.cc in front of its libc; and a store's clock, to
// compare.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/contract/redis_server.h"
#include "tests/store/gate_on_redis.h"
namespace moult {
class SetClock {
 public:
  explicit SetClock(std::filesystem::path file) : file_(std::move(file)) {
    if (!std::filesystem::exists(file_)) set(std::chrono::microseconds(0));
  }
  // "NAME=VALUE", for the program.
  std::vector<std::string> environment() const {
    return {std::string("LD_PRELOAD=") + MOULT_SHIFTED_CLOCK, "MOULT_CLOCK_SHIFT=" + file_.string()};
  }
  void set(std::chrono::microseconds ahead) {
    const std::int64_t shift = ahead.count();
    std::fstream out(
        file_, std::ios::binary | std::ios::out | (std::filesystem::exists(file_) ? std::ios::in : std::ios::trunc));
    out.write(reinterpret_cast<const char*>(&shift), sizeof shift);
  }

 private:
  std::filesystem::path file_;
};

inline StoreTime time_of(const std::string& store) {
  const RedisReply reply = RedisClient(store).ask({"TIME"});
  const auto& parts = *reply.as<RedisReply::Array>();
  return StoreTime(std::chrono::seconds(std::stoll(*parts[0].as<std::string>())) +
                   std::chrono::microseconds(std::stoll(*parts[1].as<std::string>())));
}
}  // namespace moult
