#include "master/report/snapshot.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/report/test_loop.h"
namespace moult {
namespace {
Snapshot numbered(unsigned wanted) { return {{Mode::serve, wanted, {}, {}, 0, {}, ""}, {"0.1.0", "shop", "", 7, {}}}; }

TEST(Snapshot, AppearsOnceForChangesThatComeTogetherAndNeverFromInsideTheCall) {
  testing::TestLoop loop;
  const auto board = std::make_shared<SnapshotBoard>();
  unsigned taken = 0;
  SnapshotPublisher publisher(loop.get(), board, [&] { return numbered(++taken); });
  for (int i = 0; i < 100; ++i) publisher.changed();
  EXPECT_EQ(taken, 0u);
  EXPECT_EQ(board->latest(), nullptr);
  ASSERT_TRUE(loop.turn_until([&] { return taken > 0; }));
  EXPECT_EQ(taken, 1u);
  EXPECT_EQ(board->latest()->pool.wanted, 1u);
  EXPECT_GT(board->loop_turned_at(), MonotonicTime{});
}

TEST(Snapshot, IsRenewedWithoutAnyChange) {
  testing::TestLoop loop;
  const auto board = std::make_shared<SnapshotBoard>();
  unsigned taken = 0;
  SnapshotPublisher publisher(loop.get(), board, [&] { return numbered(++taken); });
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(loop.turn_until([&] { return taken == 2; }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
  EXPECT_EQ(board->latest()->pool.wanted, 2u);
}

TEST(Snapshot, KeepsNoLoopAlive) {
  uv_loop_t loop;
  uv_loop_init(&loop);
  {
    SnapshotPublisher publisher(&loop, std::make_shared<SnapshotBoard>(), [] { return numbered(1); });
    EXPECT_EQ(uv_loop_alive(&loop), 0);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  EXPECT_EQ(uv_loop_close(&loop), 0);
}

TEST(Snapshot, IsWholeForReadersWhileItIsReplaced) {
  SnapshotBoard board;
  board.hang_up(std::make_shared<const Snapshot>(numbered(0)), MonotonicTime{});
  std::atomic<bool> over = false;
  std::thread reader([&] {
    unsigned last = 0;
    while (!over) {
      const auto seen = board.latest();
      EXPECT_GE(seen->pool.wanted, last);
      last = seen->pool.wanted;
    }
  });
  for (unsigned i = 1; i <= 10'000; ++i)
    board.hang_up(std::make_shared<const Snapshot>(numbered(i)), MonotonicTime(Duration(i)));
  over = true;
  reader.join();
  EXPECT_EQ(board.loop_turned_at(), MonotonicTime(Duration(10'000)));
}
}  // namespace
}  // namespace moult
