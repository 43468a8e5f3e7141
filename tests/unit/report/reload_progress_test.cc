#include "master/report/reload_progress.h"

#include <gtest/gtest.h>
namespace moult {
namespace {
constexpr Generation first{1}, second{2}, third{3};

ReloadProgress serving_two() {
  ReloadProgress progress;
  EXPECT_FALSE(progress.load_started(first));
  progress.proven(first);
  progress.serving(WorkerId{1}, first);
  progress.serving(WorkerId{2}, first);
  EXPECT_FALSE(progress.take_end());
  return progress;
}

TEST(ReloadProgress, IsOverWhenTheLastWorkerOfOldCodeNoLongerServes) {
  ReloadProgress progress = serving_two();
  EXPECT_TRUE(progress.load_started(second));
  progress.proven(second);
  progress.serving(WorkerId{3}, second);
  progress.no_longer_serving(WorkerId{1});
  EXPECT_FALSE(progress.take_end());
  progress.no_longer_serving(WorkerId{2});
  const auto end = progress.take_end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->outcome, "succeeded");
  EXPECT_EQ(end->generation, second);
  EXPECT_FALSE(progress.take_end());
}

TEST(ReloadProgress, IsNotOverBeforeTheNewCodeServes) {
  ReloadProgress progress = serving_two();
  EXPECT_TRUE(progress.load_started(second));
  progress.no_longer_serving(WorkerId{1});
  progress.no_longer_serving(WorkerId{2});
  EXPECT_FALSE(progress.take_end());
}

TEST(ReloadProgress, IsOverWhenTheNewCodeIsLoadedWhereTheAppSleeps) {
  ReloadProgress progress = serving_two();
  progress.no_longer_serving(WorkerId{1});
  progress.no_longer_serving(WorkerId{2});
  EXPECT_TRUE(progress.load_started(second));
  EXPECT_FALSE(progress.take_end());
  progress.loaded_asleep(second);
  const auto end = progress.take_end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->outcome, "succeeded");
  progress.rejected(second, "boom");
  EXPECT_FALSE(progress.take_end()) << "what happens at the wake is no reload";
}

TEST(ReloadProgress, IsRejectedWithItsCause) {
  ReloadProgress progress = serving_two();
  EXPECT_TRUE(progress.load_started(second));
  progress.rejected(second, "ImportError");
  const auto end = progress.take_end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->outcome, "rejected");
  EXPECT_EQ(end->error, "ImportError");
}

TEST(ReloadProgress, IsSupersededByTheNextLoad) {
  ReloadProgress progress = serving_two();
  EXPECT_TRUE(progress.load_started(second));
  EXPECT_TRUE(progress.load_started(third));
  EXPECT_EQ(progress.take_end()->outcome, "superseded");
  progress.rejected(second, "late");
  EXPECT_FALSE(progress.take_end());
}

TEST(ReloadProgress, AProvenOneIsNotRejectedByTheDeathOfItsForkServer) {
  ReloadProgress progress = serving_two();
  EXPECT_TRUE(progress.load_started(second));
  progress.proven(second);
  progress.rejected(second, "its fork server is gone");
  EXPECT_FALSE(progress.take_end());
}

TEST(ReloadProgress, EndsWithTheMaster) {
  ReloadProgress progress = serving_two();
  EXPECT_TRUE(progress.load_started(second));
  progress.stopped();
  EXPECT_EQ(progress.take_end()->outcome, "stopped");
}

TEST(ReloadProgress, AFirstLoadIsNoReload) {
  ReloadProgress progress;
  EXPECT_FALSE(progress.load_started(first));
  progress.rejected(first, "x");
  EXPECT_FALSE(progress.load_started(second));
  EXPECT_FALSE(progress.take_end());
}
}  // namespace
}  // namespace moult
