#include "master/config/nearest_name.h"

#include <gtest/gtest.h>
namespace moult {
namespace {
const std::vector<std::string_view> names{"workers", "worker-class", "timeout", "graceful-timeout", "user", "bind"};

TEST(NearestName, CountsLettersAddedDroppedChangedAndSwapped) {
  EXPECT_EQ(edit_distance("workers", "workers"), 0u);
  EXPECT_EQ(edit_distance("worker", "workers"), 1u);
  EXPECT_EQ(edit_distance("workerss", "workers"), 1u);
  EXPECT_EQ(edit_distance("workars", "workers"), 1u);
  EXPECT_EQ(edit_distance("wrokers", "workers"), 1u);
  EXPECT_EQ(edit_distance("", "bind"), 4u);
  EXPECT_EQ(edit_distance("bind", ""), 4u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(NearestName, TakesCaseAndUnderscoresForThePlainForm) {
  EXPECT_EQ(edit_distance("GRACEFUL_TIMEOUT", "graceful-timeout"), 0u);
}

TEST(NearestName, FindsTheNearestRightName) {
  EXPECT_EQ(nearest_name("wrokers", names), "workers");
  EXPECT_EQ(nearest_name("workerclass", names), "worker-class");
  EXPECT_EQ(nearest_name("gracefull_timout", names), "graceful-timeout");
}

TEST(NearestName, TakesANameThatWasCutShort) { EXPECT_EQ(nearest_name("graceful", names), "graceful-timeout"); }

TEST(NearestName, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("memory", names), std::nullopt);
  EXPECT_EQ(nearest_name("x", names), std::nullopt);
  EXPECT_EQ(nearest_name("x", {"s"}), std::nullopt) << "all of its letters are wrong";
  EXPECT_EQ(nearest_name("", names), std::nullopt);
  EXPECT_EQ(nearest_name("workers", {}), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(100'000, 'w'), names), std::nullopt);
}
}  // namespace
}  // namespace moult
