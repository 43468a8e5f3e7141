#include "master/report/snapshot.h"

#include <gtest/gtest.h>

#include <thread>
namespace moult {
namespace {
Snapshot numbered(unsigned wanted) { return {{Mode::serve, wanted, {}, {}, 0, {}, ""}, {"0.1.0", "shop", "", 7, {}}}; }

struct Loop {
  Loop() { uv_loop_init(&loop); }
  ~Loop() {
    uv_run(&loop, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&loop), 0);
  }
  uv_loop_t loop;
};

TEST(Snapshot, AppearsOnceForChangesThatComeTogetherAndNeverFromInsideTheCall) {
  Loop loop;
  const auto board = std::make_shared<SnapshotBoard>();
  unsigned taken = 0;
  SnapshotPublisher publisher(&loop.loop, board, [&] { return numbered(++taken); });
  for (int i = 0; i < 100; ++i) publisher.changed();
  EXPECT_EQ(taken, 0u);
  EXPECT_EQ(board->latest(), nullptr);
  while (taken == 0) uv_run(&loop.loop, UV_RUN_NOWAIT);
  EXPECT_EQ(taken, 1u);
  EXPECT_EQ(board->latest()->pool.wanted, 1u);
  EXPECT_GT(board->loop_turned_at(), MonotonicTime{});
}

TEST(Snapshot, IsRenewedWithoutAnyChange) {
  Loop loop;
  const auto board = std::make_shared<SnapshotBoard>();
  unsigned taken = 0;
  SnapshotPublisher publisher(&loop.loop, board, [&] { return numbered(++taken); });
  const auto begin = std::chrono::steady_clock::now();
  while (taken < 2) uv_run(&loop.loop, UV_RUN_NOWAIT);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
  EXPECT_EQ(board->latest()->pool.wanted, 2u);
}

TEST(Snapshot, KeepsNoLoopAlive) {
  Loop loop;
  SnapshotPublisher publisher(&loop.loop, std::make_shared<SnapshotBoard>(), [] { return numbered(1); });
  EXPECT_EQ(uv_run(&loop.loop, UV_RUN_DEFAULT), 0);
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
