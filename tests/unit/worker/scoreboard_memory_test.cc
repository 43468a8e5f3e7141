#include "worker/scoreboard_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>

namespace moult {
namespace {
UniqueFd another_holder(const ScoreboardMemory& scoreboard) { return UniqueFd(::dup(scoreboard.fd())); }

// A memfd as somebody else might make one.
UniqueFd foreign(std::uint64_t magic, std::uint64_t version, off_t bytes, int seals) {
  UniqueFd fd(::memfd_create("foreign", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const std::array<std::uint64_t, 2> start{magic, version};
  if (::pwrite(fd.get(), start.data(), sizeof start, 0) != sizeof start) return {};
  if (::ftruncate(fd.get(), bytes) != 0 || ::fcntl(fd.get(), F_ADD_SEALS, seals) != 0) return {};
  return fd;
}
constexpr int sealed = F_SEAL_SHRINK | F_SEAL_GROW;

std::string refusal(UniqueFd fd) {
  const auto scoreboard = ScoreboardMemory::open(std::move(fd));
  return scoreboard ? "opened" : scoreboard.error().message;
}

TEST(Scoreboard, BeginsWithZeroesAfterMagicAndVersion) {
  const auto scoreboard = ScoreboardMemory::create();
  ASSERT_TRUE(scoreboard);
  EXPECT_EQ(scoreboard->read(ScoreboardField::magic), scoreboard_magic);
  EXPECT_EQ(scoreboard->read(ScoreboardField::version), scoreboard_version);
  for (auto i = static_cast<std::size_t>(ScoreboardField::requests_started);
       i < static_cast<std::size_t>(ScoreboardField::count); ++i)
    EXPECT_EQ(scoreboard->read(static_cast<ScoreboardField>(i)), 0u) << "field " << i;
}

TEST(Scoreboard, ShowsTheMasterWhatTheWorkerWrites) {
  const auto masters = ScoreboardMemory::create();
  ASSERT_TRUE(masters);
  auto workers = ScoreboardMemory::open(another_holder(*masters));
  ASSERT_TRUE(workers);
  workers->write(ScoreboardField::responses_5xx, ~std::uint64_t{0});
  workers->write(ScoreboardField::requests_started, 7);
  EXPECT_EQ(masters->read(ScoreboardField::responses_5xx), ~std::uint64_t{0});
  EXPECT_EQ(masters->read(ScoreboardField::requests_started), 7u);
  EXPECT_EQ(masters->read(ScoreboardField::requests_finished), 0u);
}

TEST(Scoreboard, CannotBeResizedByWhoeverHoldsIt) {
  const auto scoreboard = ScoreboardMemory::create();
  ASSERT_TRUE(scoreboard);
  const UniqueFd held = another_holder(*scoreboard);
  EXPECT_EQ(::ftruncate(held.get(), 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(held.get(), scoreboard_bytes + 1), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::fcntl(held.get(), F_ADD_SEALS, F_SEAL_WRITE), -1);
}

TEST(Scoreboard, IsRefusedWhenItIsForeign) {
  EXPECT_EQ(refusal(foreign(scoreboard_magic, scoreboard_version, scoreboard_bytes, sealed)), "opened");
  EXPECT_EQ(refusal(foreign(scoreboard_magic, scoreboard_version + 1, scoreboard_bytes, sealed)),
            "the scoreboard has version 2, this program speaks version 1: master and worker are of different versions "
            "of moult");
  EXPECT_EQ(refusal(foreign(scoreboard_magic + 1, scoreboard_version, scoreboard_bytes, sealed)),
            "this is no scoreboard: no magic");
  EXPECT_EQ(refusal(foreign(scoreboard_magic, scoreboard_version, scoreboard_bytes - 1, sealed)),
            "this is no scoreboard: its size is not 4096 bytes");
  EXPECT_EQ(refusal(foreign(scoreboard_magic, scoreboard_version, scoreboard_bytes + 1, sealed)),
            "this is no scoreboard: its size is not 4096 bytes");
  EXPECT_EQ(refusal(foreign(scoreboard_magic, scoreboard_version, scoreboard_bytes, F_SEAL_GROW)),
            "this is no scoreboard: its size is not sealed");
  EXPECT_EQ(refusal(UniqueFd()), "cannot look at a scoreboard: Bad file descriptor");
}

TEST(Scoreboard, MayBeMoved) {
  auto first = ScoreboardMemory::create();
  ASSERT_TRUE(first);
  ScoreboardMemory second = *std::move(first);
  second.write(ScoreboardField::open_connections, 3);
  auto third = ScoreboardMemory::create();
  ASSERT_TRUE(third);
  *third = std::move(second);
  EXPECT_EQ(third->read(ScoreboardField::open_connections), 3u);
}
}  // namespace
}  // namespace moult
