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
    telling.news = [this](const StoreNews& news) { told.push_back(news); };
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
  std::vector<StoreNews> told;
};
using Kind = StoreNews::Kind;
constexpr Duration soon = 2 * heartbeat_every + std::chrono::seconds(2);  // and what a busy machine takes

TEST_F(StoreNewsOnALoop, AStoreThatBecameAReplicaIsToldOnceThoughNobodyAsks) {
  const auto a = telling_gate();
  ASSERT_TRUE(is_heard() && is_told_within(soon, 1));
  EXPECT_EQ(told.at(0).kind, Kind::joined);
  redis({"REPLICAOF", "127.0.0.1", "1"});
  ASSERT_TRUE(is_told_within(soon, 2));
  EXPECT_EQ(told.at(1).kind, Kind::refuses);
  EXPECT_THAT(told.at(1).why, HasSubstr("READONLY"));
  loop.run_for(heartbeat_every);
  EXPECT_EQ(told.size(), 2u);
  EXPECT_GE(a->describe().in_trouble, heartbeat_every);
  redis({"REPLICAOF", "NO", "ONE"});
  ASSERT_TRUE(is_told_within(soon, 3));
  EXPECT_EQ(told.at(2).kind, Kind::answers_again);
}

TEST_F(StoreNewsOnALoop, AStoreThatTakesBytesAndSaysNothingIsToldOnceThoughNobodyAsks) {
  const auto a = telling_gate();
  ASSERT_TRUE(is_heard() && is_told_within(soon, 1));
  server.signal(SIGSTOP);
  ASSERT_TRUE(is_told_within(soon, 2));
  EXPECT_EQ(told.at(1).kind, Kind::silent);
  EXPECT_THAT(told.at(1).why, HasSubstr("no answer"));
  loop.run_for(heartbeat_every);
  EXPECT_EQ(told.size(), 2u);
  server.signal(SIGCONT);
  ASSERT_TRUE(is_told_within(soon, 3));
  EXPECT_EQ(told.at(2).kind, Kind::answers_again);
}

TEST_F(StoreNewsOnALoop, AStoreThatIsSilentFromTheFirstIsToldAndJoinedWhenItAnswers) {
  server.signal(SIGSTOP);
  const auto a = telling_gate();
  ASSERT_TRUE(is_told_within(soon, 1));
  EXPECT_EQ(told.at(0).kind, Kind::silent);
  server.signal(SIGCONT);
  ASSERT_TRUE(is_told_within(soon, 2));
  EXPECT_EQ(told.at(1).kind, Kind::joined);
}

TEST_F(StoreNewsOnALoop, AStoreThatSaysNoRefuses) {
  for (const char* off : {"-@scripting", "-time"}) {
    told.clear();
    redis({"ACL", "SETUSER", "default", "+@all", off});
    const auto a = telling_gate();
    ASSERT_TRUE(is_told_within(soon, 1)) << off;
    EXPECT_EQ(told.at(0).kind, Kind::refuses) << off;
    EXPECT_THAT(told.at(0).why, HasSubstr("NOPERM")) << off;
  }
}

TEST_F(StoreNewsOnALoop, KeysThatAreSomebodyElsesAreNamed) {
  redis({"SET", ledger_keys("shop")[0], "something else"});
  const auto a = telling_gate();
  ASSERT_TRUE(is_told_within(soon, 1));
  EXPECT_EQ(told.at(0).kind, Kind::refuses);
  EXPECT_THAT(told.at(0).why, HasSubstr("under {moult:shop}:1:* is no fleet's ledger (WRONGTYPE)"));
  EXPECT_THAT(told.at(0).why, HasSubstr("say another --fleet-name"));
}

TEST_F(StoreNewsOnALoop, OfAStoreThatIsWellNothingMoreIsTold) {
  const auto a = telling_gate();
  ASSERT_TRUE(is_heard());
  loop.run_for(heartbeat_every + heartbeat_every / 2);
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(a->describe().fleet, "shop");
}
}  // namespace
}  // namespace moult
