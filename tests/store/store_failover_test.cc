// A store that comes back with its memory, and one whose replica takes its place: with all that it knew, or not.
#include <gmock/gmock.h>

#include "tests/store/gate_on_redis.h"
#include "tests/store/go_between.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::HasSubstr;

// Put back by its holder it would have neither the instance nor the operation that it was granted to.
void expect_kept_and_renewed(const Ledger& now, const Permit& before) {
  ASSERT_EQ(now.permits.size(), 1u);
  EXPECT_EQ(now.permits[0].token, before.token);
  EXPECT_EQ(now.permits[0].operation, before.operation);
  EXPECT_EQ(now.permits[0].instance, "a");
  EXPECT_GT(now.permits[0].expires_at, before.expires_at);
}

class StoreThatRemembers : public GatesOnRedis {
 protected:
  explicit StoreThatRemembers(std::vector<std::string> more = {}) : GatesOnRedis(std::move(more)) {}
  void restarted_it_keeps_the_lease_and_the_budget(const std::function<void()>& before_its_end) {
    const auto a = gate("a"), b = gate("b");
    const auto held = asked(*a);
    ASSERT_TRUE(held->granted());
    const Permit before = stored().permits.at(0);
    before_its_end();
    server.stop();
    server.start();
    ASSERT_EQ(stored().permits.size(), 1u) << "it has forgotten";
    const auto seen = look(*a);  // after the renewal that comes first on a new connection
    ASSERT_TRUE(seen);
    EXPECT_NEAR(seen->tokens, 1, 0.01);
    expect_kept_and_renewed(stored(), before);
    EXPECT_EQ(asked(*b)->refused(), Refusal::lease_held);
    EXPECT_EQ(a->describe().leases_lost, 0u);
  }
};
class StoreThatWritesAll : public StoreThatRemembers {
 protected:
  StoreThatWritesAll() : StoreThatRemembers({"--appendonly", "yes", "--appendfsync", "always"}) {}
};

TEST_F(StoreThatWritesAll, RestartedItKeepsTheLeaseAndTheBudget) {
  restarted_it_keeps_the_lease_and_the_budget([] {});
}

TEST_F(StoreThatRemembers, SavedAndRestartedItKeepsTheLeaseAndTheBudget) {
  restarted_it_keeps_the_lease_and_the_budget([this] { ASSERT_EQ(*redis({"SAVE"}).as<std::string>(), "OK"); });
}

// The gates go by a name that leads to the one store or the other. The replica follows through a GoBetween, so that
// it can be cut off.
class StoreWithAReplica : public GatesOnRedis {
 protected:
  StoreWithAReplica() : StoreWithAReplica(free_port()) {}
  void SetUp() override {
    ASSERT_TRUE(comes_true(
        [this] { return info(replica_, "replication").find("master_link_status:up") != std::string::npos; }));
  }
  void cut_off_replica() { between_.reset(); }
  void primary_dies_and_the_name_leads_to_the_replica() {
    server.stop();
    lead_to(replica_);
  }
  void promote() { ASSERT_EQ(*RedisClient(replica_.socket()).ask({"REPLICAOF", "NO", "ONE"}).as<std::string>(), "OK"); }
  Ledger replicated() {
    RedisClient client(replica_.socket());
    ask_for_stored_ledger(client, "shop");
    return receive_stored_ledger(client).ledger;
  }
  // How often it said that it takes no writes.
  std::size_t readonly_answers() {
    const std::string all = info(replica_, "errorstats"), name = "errorstat_READONLY:count=";
    const std::size_t at = all.find(name);
    return at == std::string::npos ? 0 : std::stoul(all.substr(at + name.size()));
  }
  // A lease that was given back, and all of it is known to the replica; then one that is not.
  std::unique_ptr<Question> held_unknown_to_the_replica(RedisGate& of) {
    auto first = asked(of);
    if (!first->granted()) return first;
    const std::uint64_t token = first->granted()->fencing_token;
    first.reset();
    EXPECT_TRUE(comes_true([&] {
      const Ledger ledger = replicated();
      return ledger.last_fencing_token == token && ledger.permits.empty();
    }));
    cut_off_replica();
    auto held = asked(of);
    EXPECT_TRUE(replicated().permits.empty());
    return held;
  }

 private:
  explicit StoreWithAReplica(std::uint16_t port)
      : GatesOnRedis({"--port", std::to_string(port), "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"}),
        between_(std::in_place, GoBetween::Manner{.store = {}, .port = port, .cut = {}}),
        replica_({"--replicaof", "127.0.0.1", std::to_string(between_->port())}) {
    store = server.folder() / "name.sock";
    lead_to(server);
    policy.burst = 9;
  }
  void lead_to(const RedisServer& one) {
    const std::string fresh = store + ".new";
    std::filesystem::create_symlink(one.socket(), fresh);
    std::filesystem::rename(fresh, store);
  }
  static std::string info(const RedisServer& of, const std::string& section) {
    return *RedisClient(of.socket()).ask({"INFO", section}).as<std::string>();
  }
  std::optional<GoBetween> between_;
  RedisServer replica_;
};

TEST_F(StoreWithAReplica, ALeaseThatThePromotedReplicaKnowsIsRenewed) {
  const auto a = gate("a"), b = gate("b");
  auto held = asked(*a);
  ASSERT_TRUE(held->granted());
  const std::uint64_t token = held->granted()->fencing_token;
  ASSERT_TRUE(comes_true([&] { return replicated().permits.size() == 1; }));
  const Permit before = replicated().permits[0];
  EXPECT_EQ(before.token, token);
  primary_dies_and_the_name_leads_to_the_replica();
  promote();
  ASSERT_TRUE(look(*a));
  expect_kept_and_renewed(stored(), before);
  EXPECT_EQ(asked(*b)->refused(), Refusal::lease_held);
  held.reset();
  ASSERT_TRUE(comes_true([&] { return stored().permits.empty(); }));
  const auto next = asked(*b);
  ASSERT_TRUE(next->granted());
  EXPECT_GT(next->granted()->fencing_token, token);
}

TEST_F(StoreWithAReplica, ALeaseThatThePromotedReplicaDoesNotKnowIsPutBack) {
  const auto a = gate("a"), b = gate("b");
  auto held = held_unknown_to_the_replica(*a);
  ASSERT_TRUE(held->granted());
  const std::uint64_t token = held->granted()->fencing_token;
  primary_dies_and_the_name_leads_to_the_replica();
  promote();
  ASSERT_TRUE(look(*a));
  ASSERT_EQ(stored().permits.size(), 1u);
  EXPECT_EQ(stored().permits[0].token, token);
  EXPECT_EQ(asked(*b)->refused(), Refusal::lease_held);
  EXPECT_EQ(a->describe().leases_lost, 0u);
  held.reset();
  ASSERT_TRUE(comes_true([&] { return stored().permits.empty(); }));
  const auto next = asked(*b);
  ASSERT_TRUE(next->granted());
  EXPECT_GT(next->granted()->fencing_token, token);
}

TEST_F(StoreWithAReplica, ALeaseThatWasGivenToAnotherBeforeItsHolderCameIsLostToTheGreaterToken) {
  const auto a = gate("a");
  const auto held = held_unknown_to_the_replica(*a);
  ASSERT_TRUE(held->granted());
  primary_dies_and_the_name_leads_to_the_replica();
  promote();
  const Acquire others{{1}, "b#1", Urgency::routine, StoreTime::max(), {"b", 4, 4}, 1};  // while ours stands still
  redis(ledger_call("EVAL", ledger_script().text, "shop", others, {policy, "b"}));
  ASSERT_EQ(stored().permits.size(), 1u);
  EXPECT_GT(stored().permits[0].token, held->granted()->fencing_token);
  ASSERT_TRUE(look(*a));
  EXPECT_TRUE(comes_true([&] { return a->describe().leases_lost == 1; }));
  ASSERT_EQ(stored().permits.size(), 1u);
  EXPECT_EQ(stored().permits[0].holder, "b#1");
}

TEST_F(StoreWithAReplica, AQuestionIsAskedAgainUntilTheReplicaIsPromoted) {
  policy.permits = 2;
  const auto a = gate("a");
  const auto held = asked(*a);
  ASSERT_TRUE(held->granted());
  ASSERT_TRUE(comes_true([&] { return replicated().permits.size() == 1; }));
  primary_dies_and_the_name_leads_to_the_replica();
  const auto question = ask(*a);
  ASSERT_TRUE(comes_true([&] { return readonly_answers() >= 4; }));
  EXPECT_FALSE(question->answer) << "of a replica, which has no say";
  promote();
  ASSERT_TRUE(comes_true([&] { return question->answer.has_value(); }));
  ASSERT_TRUE(question->granted());
  EXPECT_GT(question->granted()->fencing_token, held->granted()->fencing_token);
  EXPECT_EQ(stored().permits.size(), 2u);
  EXPECT_EQ(a->describe().leases_lost, 0u);
}

TEST_F(StoreWithAReplica, AReplicaThatNobodyPromotesIsAnUnreachableStore) {
  const auto a = gate("a");
  ASSERT_TRUE(comes_true([&] { return replicated().instances.size() == 1; }));
  primary_dies_and_the_name_leads_to_the_replica();
  const auto question = asked(*a, Urgency::routine, 2s);
  EXPECT_EQ(question->refused(), Refusal::store_unreachable);
  EXPECT_GE(readonly_answers(), 4u) << "a heartbeat was one of them, but it was asked again and again";
  EXPECT_THAT(a->describe().trouble, HasSubstr("READONLY"));
  EXPECT_TRUE(replicated().permits.empty());
}
}  // namespace
}  // namespace moult
