// Recorded cgroup trees, and this machine's own.
#include "recycler/instance_memory.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>

namespace moult {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

InstanceMemory recorded(const std::string& tree) {
  const auto root = std::filesystem::path(__FILE__).parent_path() / "../../fixtures/cgroups" / tree;
  EXPECT_TRUE(std::filesystem::exists(root)) << root;
  return InstanceMemory(root.string());
}

void expect_look(const std::string& tree, std::uint64_t limit, std::uint64_t headroom, const std::string& bound_by) {
  const auto look = recorded(tree).look();
  ASSERT_TRUE(look) << tree << ": " << look.error().message;
  EXPECT_EQ(look->limit_bytes, limit) << tree;
  EXPECT_EQ(look->headroom_bytes, headroom) << tree;
  EXPECT_EQ(look->bound_by, bound_by) << tree;
}

TEST(InstanceMemory, OfNestedLimitsTheOneWithTheLeastHeadroomBinds) {
  expect_look("v2-nested", 1'200'000'000, 150'000'000, "/sys/fs/cgroup/kubepods/pod1");
  expect_look("v1-nested", 2147483648, 100'000'000, "/sys/fs/cgroup/memory/apps");
}

TEST(InstanceMemory, InactiveFilePagesAreNotCountedAsUsed) {
  expect_look("v2-container", 536870912, 100'000'000, "/sys/fs/cgroup");
}

TEST(InstanceMemory, MemoryHighIsALimitToo) {
  expect_look("v2-high", 800'000'000, 300'000'000, "/sys/fs/cgroup/web.service");
}

TEST(InstanceMemory, NothingIsLeftWhereMoreIsUsedThanMayBe) {
  expect_look("v2-used-up", 500'000'000, 0, "/sys/fs/cgroup/web");
}

TEST(InstanceMemory, AContainersOuterLimitIsKnownInV1ThoughItsFolderIsNot) {
  expect_look("v1-container", 800'000'000, 400'000'000, "/sys/fs/cgroup/memory");
}

TEST(InstanceMemory, WithoutALimitTheHostsAvailableMemoryCounts) {
  for (const char* tree : {"v2-no-limit", "v1-no-limit", "host", "malformed"})
    expect_look(tree, 8'000'000 * 1024ull, 5'000'000 * 1024ull, "host");
}

TEST(InstanceMemory, WhatVanishedOrIsMalformedIsNamedAndNeverGuessed) {
  const auto message = [](const std::string& tree) {
    const auto look = recorded(tree).look();
    return look ? "looked" : look.error().message;
  };
  EXPECT_THAT(message("v2-vanished"), HasSubstr("/sys/fs/cgroup/gone/memory.max: No such file"));
  EXPECT_THAT(message("v2-usage-vanished"), HasSubstr("/sys/fs/cgroup/web/memory.current: No such file"));
  EXPECT_THAT(message("v2-malformed-limit"), HasSubstr("/sys/fs/cgroup/web/memory.max is not as expected"));
  EXPECT_THAT(message("v2-malformed-usage"), HasSubstr("/sys/fs/cgroup/web/memory.current is not as expected"));
  EXPECT_THAT(message("v2-malformed-stat"), HasSubstr("/sys/fs/cgroup/web/memory.stat is not as expected"));
  const auto nowhere = InstanceMemory("/nonexistent").look();
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().message, HasSubstr("/nonexistent/proc/meminfo"));
}

// In its place stands a folder, which root cannot read either; modes would not keep root from it.
TEST(InstanceMemory, ALimitFileThatIsThereAndCannotBeReadIsNamedAndNotTakenForNoLimit) {
  namespace fs = std::filesystem;
  const fs::path tree = fs::path(testing::TempDir()) / ("instance_memory_test." + std::to_string(::getpid()));
  for (const auto& [recorded_tree, file] :
       {std::pair{"v2-container", "sys/fs/cgroup/memory.max"}, std::pair{"v2-container", "sys/fs/cgroup/memory.high"},
        std::pair{"v1-container", "sys/fs/cgroup/memory/memory.limit_in_bytes"}}) {
    fs::copy(fs::path(__FILE__).parent_path() / "../../fixtures/cgroups" / recorded_tree, tree,
             fs::copy_options::recursive);
    ASSERT_TRUE(InstanceMemory(tree.string()).look());
    fs::remove(tree / file);
    fs::create_directory(tree / file);
    const auto look = InstanceMemory(tree.string()).look();
    fs::remove_all(tree);
    ASSERT_FALSE(look) << file;
    EXPECT_THAT(look.error().message, HasSubstr(std::string(file) + ": Is a directory"));
  }
}

TEST(InstanceMemory, CountsTheOomKillsOfItsOwnCgroupElseOfTheHost) {
  const auto kills = [](const std::string& tree) { return *recorded(tree).oom_kills(); };
  EXPECT_EQ(kills("v2-nested"), 2u);
  EXPECT_EQ(kills("v1-nested"), 5u);
  EXPECT_EQ(kills("host"), 4u);
  EXPECT_EQ(kills("v2-vanished"), 4u);
  EXPECT_FALSE(InstanceMemory("/nonexistent").oom_kills());
}

TEST(InstanceMemory, NamesTheCgroupsThatAreKilledAsAWhole) {
  EXPECT_THAT(recorded("v2-nested").oom_groups(), ElementsAre("/sys/fs/cgroup/kubepods/pod1"));
  EXPECT_THAT(recorded("v2-container").oom_groups(), ElementsAre("/sys/fs/cgroup"));
  EXPECT_THAT(recorded("v2-high").oom_groups(), IsEmpty());
  EXPECT_THAT(recorded("v1-nested").oom_groups(), IsEmpty());
}

TEST(InstanceMemory, ReadsThisMachine) {
  const InstanceMemory memory;
  const auto look = memory.look();
  ASSERT_TRUE(look) << look.error().message;
  EXPECT_GT(look->limit_bytes, 0u);
  EXPECT_LE(look->headroom_bytes, look->limit_bytes);
  EXPECT_TRUE(memory.oom_kills());
}

TEST(InstanceMemory, PressureIsArmedOrTheErrorSaysWhere) {
  const auto armed = InstanceMemory().arm_pressure();
  if (armed) EXPECT_GE(armed->get(), 0);
  else EXPECT_THAT(armed.error().message, HasSubstr("pressure"));
  const auto nowhere = InstanceMemory("/nonexistent").arm_pressure();
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().message, HasSubstr("/nonexistent/proc/pressure/memory: No such file"));
}

TEST(OwnCgroup, AV1MemoryControllerIsTheOneThatCountsBesideAUnifiedTree) {
  const OwnCgroup own = own_cgroup("4:cpu,memory:/a/b\n0::/c\n",
                                   "1 2 0:1 / /v1 rw - cgroup cgroup rw,cpu,memory\n1 2 0:2 / /v2 rw - cgroup2 x rw\n");
  EXPECT_EQ(own.version, CgroupVersion::v1);
  EXPECT_THAT(levels(own), ElementsAre("/v1/a/b", "/v1/a", "/v1"));
}

TEST(OwnCgroup, AV2TreeWithOptionalMountFieldsIsFound) {
  const OwnCgroup own = own_cgroup("0::/a\n", "1 2 0:1 / /cg rw shared:1 master:2 - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(own.version, CgroupVersion::v2);
  EXPECT_THAT(levels(own), ElementsAre("/cg/a", "/cg"));
}

TEST(OwnCgroup, APathIsCutToWhatTheMountShows) {
  const auto path = [](const std::string& own, const std::string& root) {
    return own_cgroup("0::" + own, "1 2 0:1 " + root + " /cg rw - cgroup2 x rw").path;
  };
  EXPECT_EQ(path("/docker/abc", "/docker/abc"), "");
  EXPECT_EQ(path("/docker/abc/web", "/docker/abc"), "/web");
  EXPECT_EQ(path("/docker/abcd", "/docker/abc"), "");  // another one
  EXPECT_EQ(path("/../other", "/"), "");               // outside of what this namespace sees
  EXPECT_EQ(path("/", "/"), "");
}
}  // namespace
}  // namespace moult
