#pragma once
// A real loop for the tests of launch/: runs until something is true, or says after a while that it never was.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "master/launch/environment.h"
#include "master/launch/orphans.h"
#include "master/launch/pidfd.h"
#include "master/launch/spawn.h"
namespace moult {
class LaunchLoop : public testing::Test {
 protected:
  static constexpr std::chrono::seconds patience{20};  // far more than anything here takes: never reached when it works

  LaunchLoop() {
    uv_loop_init(&loop);
    auto adopted = Orphans::adopt(&loop);
    if (adopted) orphans = std::move(*adopted);
    else ADD_FAILURE() << adopted.error().message;
  }
  ~LaunchLoop() override {
    orphans.reset();
    uv_run(&loop, UV_RUN_DEFAULT);
    EXPECT_EQ(0, uv_loop_close(&loop)) << "a handle was left";
    while (::waitpid(-1, nullptr, 0) > 0) {  // killed by their owners' destructors: nobody swept them
    }
  }

  // Whether it came true in time.
  bool run_until(const std::function<bool()>& happened) {
    // What happens in the loop's timers is seen only when its poll returns: so that never takes long.
    auto turn = make_timer(&loop, nullptr);
    uv_timer_start(
        turn.get(), [](uv_timer_t*) {}, 5, 5);
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!happened() && std::chrono::steady_clock::now() < end) uv_run(&loop, UV_RUN_ONCE);
    return happened();
  }
  // For what must not happen: gives it this long to happen.
  void run_for(std::chrono::milliseconds time) {
    bool over = false;
    auto timer = make_timer(&loop, &over);
    uv_timer_start(
        timer.get(), [](uv_timer_t* t) { *static_cast<bool*>(t->data) = true; }, time.count(), 0);
    while (!over) uv_run(&loop, UV_RUN_ONCE);
  }

  uv_loop_t loop;
  std::unique_ptr<Orphans> orphans;
};

inline std::vector<std::string> test_environment() { return child_environment(environ, {}); }

inline SpawnRequest request_of(std::vector<std::string> command) {
  SpawnRequest request;
  request.command = std::move(command);
  request.environment = test_environment();
  return request;
}

inline SpawnRequest shell(const std::string& script) { return request_of({"/bin/sh", "-c", script}); }

// A folder that goes with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    char name[] = "/tmp/moult-launch-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~TemporaryFolder() { std::system(("rm -rf " + path_).c_str()); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// Neither running nor a zombie.
inline bool is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }
}  // namespace moult
