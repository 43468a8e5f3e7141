#pragma once
// A libuv loop for tests that speak to a store over real sockets. Waiting is always for something to become true, with
// a bound; a bound that is reached fails the test. A handle that was left open fails it too.
#include <gtest/gtest.h>
#include <uv.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/machine.h"
#include "lease/redis_connection.h"
namespace moult {
inline constexpr std::chrono::seconds patience{20};

class StoreLoop {
 public:
  StoreLoop() {
    ::signal(SIGPIPE, SIG_IGN);  // as block_signals_early() does in the master
    uv_loop_init(&loop_);
  }
  ~StoreLoop() {
    // A name that is looked up cannot always be cancelled: its end is waited for.
    EXPECT_TRUE(run_until([this] { return !uv_loop_alive(&loop_); }, false));
    EXPECT_EQ(uv_loop_close(&loop_), 0) << "a handle was left open";
  }
  StoreLoop(const StoreLoop&) = delete;
  StoreLoop& operator=(const StoreLoop&) = delete;

  uv_loop_t* get() { return &loop_; }
  MonotonicTime now() {
    uv_update_time(&loop_);
    return monotonic_now(&loop_);
  }
  Budget budget(Duration whole) { return {now() + whole}; }

  bool run_until(const std::function<bool()>& true_now, bool tick = true) {
    const auto end = std::chrono::steady_clock::now() + patience;
    uv_timer_t timer;  // so that the loop looks again
    uv_timer_init(&loop_, &timer);
    uv_timer_start(
        &timer, [](uv_timer_t*) {}, 1, 1);
    if (!tick) uv_unref(reinterpret_cast<uv_handle_t*>(&timer));
    bool reached = false;
    while (!(reached = true_now()) && std::chrono::steady_clock::now() < end) uv_run(&loop_, UV_RUN_ONCE);
    uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
    uv_run(&loop_, UV_RUN_NOWAIT);
    return reached;
  }
  void run_for(Duration time) {
    const MonotonicTime end = now() + time;
    run_until([&] { return now() >= end; });
  }

 private:
  uv_loop_t loop_;
};

// One call, its answer and how long that took.
struct Asked {
  std::unique_ptr<RedisCall> call;
  std::optional<RedisAnswer> answer;
  MonotonicTime asked_at{}, answered_at{};
  int answers = 0;

  const RedisReply* reply() const { return answer ? std::get_if<RedisReply>(&*answer) : nullptr; }
  const RedisFailure* failure() const { return answer ? std::get_if<RedisFailure>(&*answer) : nullptr; }
  std::string said() const {  // as a person reads it
    if (!answer) return "(no answer)";
    if (failure()) return failure()->message;
    if (const auto* text = reply()->as<std::string>()) return *text;
    if (const auto* error = reply()->as<RedisError>()) return error->message;
    if (const auto* number = reply()->as<std::int64_t>()) return std::to_string(*number);
    return "(another reply)";
  }
  Duration took() const { return answered_at - asked_at; }
};

// What `ask` gives must not move until it is answered.
inline std::shared_ptr<Asked> ask(StoreLoop& loop, RedisConnection& connection, RedisWords words, Duration budget,
                                  IfLost if_lost = IfLost::ask_again) {
  auto asked = std::make_shared<Asked>();
  asked->asked_at = loop.now();
  asked->call = connection.call(std::move(words), {asked->asked_at + budget}, if_lost,
                                [asked = asked.get(), &loop](RedisAnswer answer) {
                                  asked->answer = std::move(answer);
                                  asked->answered_at = loop.now();
                                  ++asked->answers;
                                });
  EXPECT_FALSE(asked->answer) << "answered from inside the call";
  return asked;
}

inline std::shared_ptr<Asked> ask_and_wait(StoreLoop& loop, RedisConnection& connection, RedisWords words,
                                           Duration budget = patience) {
  auto asked = ask(loop, connection, std::move(words), budget);
  EXPECT_TRUE(loop.run_until([&] { return asked->answer.has_value(); }));
  return asked;
}

inline RedisOptions over_unix(const std::string& path) {
  return {.address = {.kind = RedisAddress::Kind::unix_socket, .path = path}, .tls = {}, .client_name = "moult-test"};
}
inline RedisOptions over_tcp(std::uint16_t port, const std::string& host = "127.0.0.1") {
  return {.address = {.kind = RedisAddress::Kind::tcp, .host = host, .port = port}, .tls = {}, .client_name = {}};
}

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}
}  // namespace moult
