#include "worker/fd_custody.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace moult {
namespace {
UniqueFd some_fd() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(FdCustody, ClosesADescriptorWhenTheOtherSideHasIt) {
  FdCustody custody(2);
  UniqueFd fd = some_fd();
  const int number = fd.get();
  ASSERT_TRUE(custody.keep({1}, fd));
  EXPECT_FALSE(fd);
  EXPECT_EQ(custody.fd({1}), number);
  EXPECT_TRUE(is_open(number));
  EXPECT_TRUE(custody.acknowledged({1}));
  EXPECT_FALSE(is_open(number));
  EXPECT_FALSE(custody.acknowledged({1}));
  EXPECT_EQ(custody.fd({1}), -1);
}

TEST(FdCustody, GivesADeclinedDescriptorBackOnce) {
  FdCustody custody(2);
  UniqueFd fd = some_fd();
  const int number = fd.get();
  ASSERT_TRUE(custody.keep({1}, fd));
  EXPECT_EQ(custody.declined({1}).release(), number);
  EXPECT_TRUE(is_open(number));
  EXPECT_FALSE(custody.declined({1}));
  ::close(number);
}

TEST(FdCustody, LeavesWhatItCannotKeepWithTheCaller) {
  FdCustody custody(2);
  UniqueFd first = some_fd(), same_id = some_fd(), second = some_fd(), third = some_fd(), none;
  EXPECT_FALSE(custody.keep({1}, none));
  EXPECT_FALSE(custody.keep({}, first));
  ASSERT_TRUE(custody.keep({1}, first));
  EXPECT_FALSE(custody.keep({1}, same_id));
  EXPECT_TRUE(same_id);
  EXPECT_FALSE(custody.full());
  ASSERT_TRUE(custody.keep({2}, second));
  EXPECT_TRUE(custody.full());
  EXPECT_FALSE(custody.keep({3}, third));
  EXPECT_TRUE(third);
  EXPECT_EQ(custody.size(), 2u);
}

TEST(FdCustody, GivesEverythingBackOldestFirstWhenThePeerIsGone) {
  FdCustody custody(3);
  for (const std::uint64_t id : {7, 3, 5}) {
    UniqueFd fd = some_fd();
    ASSERT_TRUE(custody.keep({id}, fd));
  }
  EXPECT_TRUE(custody.acknowledged({5}));
  const auto all = custody.take_all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].first, ConnectionId{3});
  EXPECT_EQ(all[1].first, ConnectionId{7});
  EXPECT_TRUE(is_open(all[0].second.get()));
  EXPECT_EQ(custody.size(), 0u);
}

TEST(FdCustody, ClosesWhatItStillHoldsWhenItGoes) {
  int number = -1;
  {
    FdCustody custody(1);
    UniqueFd fd = some_fd();
    number = fd.get();
    ASSERT_TRUE(custody.keep({1}, fd));
  }
  EXPECT_FALSE(is_open(number));
}
}  // namespace
}  // namespace moult
