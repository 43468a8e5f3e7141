// What a gate tells of its store while nobody asks anything: that it is away, once, and that it is back.
#include <gmock/gmock.h>

#include "tests/store/gate_on_redis.h"

namespace moult {
namespace {
using testing::HasSubstr;

class StoreNewsOnALoop : public GatesOnRedis {
 protected:
  std::unique_ptr<RedisGate> telling_gate() {
    RedisGateOptions telling = options("a");
    telling.news = [this](const std::string& trouble) { told.push_back(trouble); };
    return std::make_unique<RedisGate>(loop.get(), telling, [this] { return capacity; });
  }
  bool is_heard() {
    return comes_true([this] { return stored().instances.size() == 1; });
  }
  bool is_told_within(Duration time, std::size_t count) {
    const MonotonicTime end = loop.now() + time;
    comes_true([&] { return told.size() >= count || loop.now() > end; });
    return told.size() >= count;
  }
  std::vector<std::string> told;
};
constexpr Duration soon = 2 * heartbeat_every + std::chrono::seconds(2);  // and what a busy machine takes

TEST_F(StoreNewsOnALoop, AStoreThatBecameAReplicaIsToldOnceThoughNobodyAsks) {
  const auto a = telling_gate();
  ASSERT_TRUE(is_heard());
  redis({"REPLICAOF", "127.0.0.1", "1"});
  ASSERT_TRUE(is_told_within(soon, 1));
  EXPECT_THAT(told.at(0), HasSubstr("READONLY"));
  loop.run_for(heartbeat_every);
  EXPECT_EQ(told.size(), 1u);
  redis({"REPLICAOF", "NO", "ONE"});
  ASSERT_TRUE(is_told_within(soon, 2));
  EXPECT_EQ(told.at(1), "");
}

TEST_F(StoreNewsOnALoop, AStoreThatTakesBytesAndSaysNothingIsToldOnceThoughNobodyAsks) {
  const auto a = telling_gate();
  ASSERT_TRUE(is_heard());
  server.signal(SIGSTOP);
  ASSERT_TRUE(is_told_within(soon, 1));
  EXPECT_THAT(told.at(0), HasSubstr("no answer"));
  loop.run_for(heartbeat_every);
  EXPECT_EQ(told.size(), 1u);
  server.signal(SIGCONT);
  ASSERT_TRUE(is_told_within(soon, 2));
  EXPECT_EQ(told.at(1), "");
}

TEST_F(StoreNewsOnALoop, AStoreThatIsSilentFromTheFirstIsTold) {
  server.signal(SIGSTOP);
  const auto a = telling_gate();
  EXPECT_TRUE(is_told_within(soon, 1));
  server.signal(SIGCONT);
}

TEST_F(StoreNewsOnALoop, OfAStoreThatIsWellNothingIsTold) {
  const auto a = telling_gate();
  ASSERT_TRUE(is_heard());
  loop.run_for(heartbeat_every + heartbeat_every / 2);
  EXPECT_TRUE(told.empty());
}
}  // namespace
}  // namespace moult
