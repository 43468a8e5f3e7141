#pragma once
// A real Sleeper on a real loop, over a pool that a test moves by hand. What it does is written down in order.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "master/sleep/sleeper.h"
namespace moult {
class SleepingApp : public testing::Test, public SleepObserver {
 protected:
  using Outcome = std::optional<Result<void>>;

  void start(IdleState saved = IdleState::active) {
    sleeper = std::make_unique<Sleeper>(loop.get(), policy, saved, parts());
    sleeper->observe(*this);
    sleeper->start();
    settle();
    did.clear();
  }
  void start_serving() {
    pool.goal.proven = pool.goal.candidate = Generation{1};
    start();
    worker(WorkerState::serving);
    did.clear();
  }
  void fall_asleep() {
    sleeper->sleep([](const Result<void>&) {});
    nobody();
    ASSERT_EQ(state(), IdleState::asleep);
    did.clear();
  }

  // The pool's answers.
  void settle() { sleeper->pool_settled(pool); }
  void worker(WorkerState now, std::optional<unsigned> slot = 0) {
    pool.workers = {{.id = WorkerId{1}, .slot = slot, .generation = Generation{1}, .state = now}};
    if (now == WorkerState::serving) sleeper->worker_serving(pool.workers.front(), 1);
    settle();
  }
  void nobody() {
    pool.workers.clear();
    settle();
  }

  bool run_until(const std::function<bool()>& happened) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    auto turn = make_timer(loop.get(), nullptr);
    uv_timer_start(
        turn.get(), [](uv_timer_t*) {}, 1, 1);
    while (!happened() && std::chrono::steady_clock::now() < end) uv_run(loop.get(), UV_RUN_ONCE);
    return happened();
  }
  IdleState state() const { return sleeper->describe().state; }
  Told into(Outcome& outcome) {
    return [&outcome](const Result<void>& ended) { outcome = ended; };
  }

  void slept(const FellAsleep& e) override { told.push_back("slept " + std::string(name_of(e.why))); }
  void woke(const WokeUp& e) override { told.push_back("woke " + std::string(name_of(e.caller))); }
  void wake_failed(const FailedWake& e) override { told.push_back("wake failed: " + e.cause), last_wake = e; }
  void stop_failed(const FailedStop& e) override { told.push_back("stop failed: " + e.cause); }

  SleeperParts parts() {
    SleeperParts all;
    all.pool = [this]() -> const Pool& { return pool; };
    all.sweep = [this] { return ++sweeps, activity; };
    all.next_call_due = [] { return never; };
    all.sleep = [this] { set_mode(Mode::sleep, "sleep"); };
    all.serve = [this] { set_mode(Mode::serve, "serve"); };
    all.keep_warm = [this](bool keep) { did.push_back(keep ? "keep warm" : "let cool"); };
    all.drop_warmth = [this] { did.push_back("drop warmth"); };
    all.watch_callers = [this](bool on) { did.push_back(on ? "watch" : "watch no more"); };
    all.refuse_callers = [this](MonotonicTime) { did.push_back("refuse"); };
    all.admit_callers = [this] { did.push_back("admit"); };
    all.save = [this](IdleState saved) { saves.push_back(std::string(name_of(saved))); };
    all.trouble = [this] { return trouble; };
    if (has_hook) all.before_sleep = [this](SleepReason, Told ended) { return waits_for("hook", std::move(ended)); };
    if (delivers) all.deliver = [this](Told ended) { return waits_for("delivery", std::move(ended)); };
    return all;
  }

  EventLoop loop;
  IdlePolicy policy{.idle = std::chrono::hours(1),
                    .wake_timeout = std::chrono::seconds(30),
                    .stop_timeout = std::chrono::minutes(1),
                    .warm_for = std::chrono::hours(4)};
  bool has_hook = false, delivers = false;
  Pool pool;
  Activity activity;
  unsigned sweeps = 0;
  std::string trouble;
  std::vector<std::string> did, told, saves;
  std::optional<FailedWake> last_wake;
  Told end_of_what_is_underway;
  std::weak_ptr<void> underway;  // expired: cancelled, or over
  std::unique_ptr<Sleeper> sleeper;

 private:
  void set_mode(Mode mode, const char* name) {
    did.push_back(name);
    pool.goal.mode = mode;
    settle();
  }
  Underway waits_for(const char* name, Told ended) {
    did.push_back(name);
    end_of_what_is_underway = std::move(ended);
    auto handle = std::make_shared<int>();
    underway = handle;
    return handle;
  }
};
}  // namespace moult
