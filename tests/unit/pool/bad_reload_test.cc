// A reload while old workers are missing, in virtual time: the new code is tried in the empty slots too, so that the
// reload ends, by READY or after `boot_attempts`, whoever else cannot boot.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include "master/pool/pool.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
constexpr Generation old_code{1}, new_code{2};

class BadReloadTest : public testing::Test {
 protected:
  void start(unsigned workers) {
    post(ScaleTo{workers});
    post(GenerationLoaded{old_code});
    run_for(60s);
    ASSERT_EQ(serving(old_code), workers);
    fewest_serving_ = workers;
  }
  void kill(unsigned slot) {
    for (const Worker& w : std::vector<Worker>(pool_.workers))
      if (w.slot == slot && w.state == WorkerState::serving) post(WorkerGone{w.id});
  }
  // One after another, so that what they do next does not fall on the same instant.
  void kill_first(unsigned workers) {
    for (unsigned slot = 0; slot < workers; ++slot) {
      kill(slot);
      run_for(300ms);
    }
  }
  void reload() {
    post(GenerationLoaded{new_code});
    loaded_at_ = now_;
  }
  void run_for(Duration length) {
    const MonotonicTime end = now_ + length;
    while (true) {
      const MonotonicTime next = std::min(next_deadline(pool_, now_), due_.empty() ? never : due_.begin()->first);
      if (next > end) break;
      now_ = std::max(now_, next);
      if (due_.empty() || due_.begin()->first > now_) {
        post(TimePassed{});
        continue;
      }
      const PoolEvent event = due_.begin()->second;
      due_.erase(due_.begin());
      post(event);
    }
    now_ = end;
  }
  long serving(Generation g) const {
    return std::ranges::count_if(pool_.workers,
                                 [&](const Worker& w) { return w.state == WorkerState::serving && w.generation == g; });
  }
  long serving() const { return serving(old_code) + serving(new_code); }

  std::set<Generation> broken_;
  std::optional<Duration> rejected_after_;
  unsigned attempts_ = 0;  // of the new code
  long fewest_serving_ = 100;
  std::map<unsigned, std::vector<Generation>> launched_;  // by slot

 private:
  void post(const PoolEvent& event) {
    auto step = transition(std::move(pool_), event, policy_, now_);
    pool_ = std::move(step.state);
    for (const PoolAction& action : step.actions) perform(action);
    fewest_serving_ = std::min(fewest_serving_, serving());
  }
  void perform(const PoolAction& action) {
    if (std::holds_alternative<GenerationRejected>(action)) rejected_after_ = now_ - loaded_at_;
    if (const auto* retire = std::get_if<SendRetire>(&action)) due_.emplace(now_ + 1s, WorkerGone{retire->id});
    const auto* spawn = std::get_if<Spawn>(&action);
    if (!spawn) return;
    if (spawn->slot) launched_[*spawn->slot].push_back(spawn->generation);
    attempts_ += spawn->generation == new_code;
    const MonotonicTime booted = now_ + 50ms + 7ms * (spawn->id.value % 5);  // no two alike
    if (broken_.contains(spawn->generation)) due_.emplace(booted, WorkerGone{spawn->id});
    else due_.emplace(booted, WorkerReady{spawn->id});
  }

  PoolPolicy policy_{{60s, 30s, 10s}, 5, {1s, 30s}, 10s, 0s};
  Pool pool_;
  MonotonicTime now_{100s}, loaded_at_{};
  std::multimap<MonotonicTime, PoolEvent> due_;
};

class BesideMissingWorkers : public BadReloadTest, public testing::WithParamInterface<unsigned> {};
INSTANTIATE_TEST_SUITE_P(OfThree, BesideMissingWorkers, testing::Values(1u, 2u, 3u));

TEST_P(BesideMissingWorkers, IsRejectedAfterItsAttemptsThoughTheOldCodeCannotBootEither) {
  start(3);
  broken_ = {old_code, new_code};
  kill_first(GetParam());
  run_for(20s);
  reload();
  run_for(60s);
  ASSERT_TRUE(rejected_after_);
  EXPECT_LE(*rejected_after_, 30s);
  EXPECT_LE(attempts_, 5u + 2u);  // and those that booted in that moment
  EXPECT_EQ(serving(old_code), 3 - GetParam());
}

TEST_P(BesideMissingWorkers, TheNewCodeServesAsSoonAsItCanBootThoughTheOldOneCannot) {
  start(3);
  broken_ = {old_code, new_code};
  kill_first(GetParam());
  run_for(20s);
  reload();
  run_for(20ms);
  broken_ = {old_code};
  run_for(120s);
  EXPECT_FALSE(rejected_after_);
  EXPECT_EQ(serving(new_code), 3);
}

TEST_F(BadReloadTest, ACrashMeanwhileIsRefilledFromTheOldCode) {
  start(3);
  broken_ = {new_code};
  reload();
  run_for(2s);
  ASSERT_GE(attempts_, 2u);
  launched_.clear();
  kill(1);
  kill(2);
  run_for(60s);
  EXPECT_EQ(launched_[1].front(), old_code);
  EXPECT_EQ(launched_[2].front(), old_code);
  EXPECT_TRUE(rejected_after_);
  EXPECT_EQ(serving(old_code), 3);
  EXPECT_EQ(fewest_serving_, 1);
}
}  // namespace
}  // namespace moult
