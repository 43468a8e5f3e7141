// What the script is to its store: what it costs, what it leaves behind, what it makes of a store that others spoil.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/contract/stored_ledger.h"

namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::HasSubstr;

class ScriptInStore : public testing::Test {
 protected:
  LedgerAnswer ask(const LedgerRequest& request) { return store.ask(request, settings, now); }
  void hear(unsigned members) {
    for (unsigned i = 0; i < members; ++i) ask(Heartbeat{"i" + std::to_string(i), 4, 4});
  }
  Acquire acquire(const std::string& who) { return {{++operations}, who, {}, now + 1s, {who, 4, 4}, 1}; }
  std::string info(const std::string& section) { return *store.client().ask({"INFO", section}).as<std::string>(); }
  // Commands that the store ran, those of scripts included.
  long commands() {
    const std::string said = info("commandstats");
    long sum = 0;
    for (std::size_t at = 0; (at = said.find("calls=", at)) != std::string::npos; ++at)
      sum += std::stol(said.substr(at + 6));
    return sum;
  }
  long commands_of(const LedgerRequest& request) {
    store.client().ask({"CONFIG", "RESETSTAT"});
    ask(request);
    return commands();
  }
  FleetView look() { return std::get<FleetView>(ask(Look{})); }
  StoredLedger stored() {
    ask_for_stored_ledger(store.client(), LedgerInRedis::fleet);
    return receive_stored_ledger(store.client());
  }
  std::vector<std::string> keys = ledger_keys(LedgerInRedis::fleet);
  LedgerInRedis store;
  FleetSettings settings{{1, 120s, 60, RatePer::worker, 100, 50}, "a"};
  StoreTime now{1000h};
  std::uint64_t operations = 0;
};

TEST_F(ScriptInStore, AnAcquireCostsTheSameInAFleetOfTenAndOfAThousand) {
  hear(10);
  ask(Heartbeat{"a", 4, 4});
  const long among_ten = commands_of(acquire("a"));
  hear(1000);
  ask(Release{"a", stored().ledger.permits.at(0).token});
  const long among_thousand = commands_of(acquire("a"));
  EXPECT_EQ(among_thousand, among_ten);
  EXPECT_LT(among_thousand, 25);
}

TEST_F(ScriptInStore, NoKeyOutlivesAWeekInWhichNobodyCame) {
  hear(2);
  ask(acquire("a"));
  for (const std::string& key : keys) {
    const RedisReply left = store.client().ask({"PTTL", key});
    ASSERT_TRUE(left.as<std::int64_t>()) << key;
    EXPECT_GT(*left.as<std::int64_t>(), 6 * 24 * 3600 * 1000) << key;
    EXPECT_LE(*left.as<std::int64_t>(), 7 * 24 * 3600 * 1000) << key;
  }
  EXPECT_EQ(*store.client().ask({"DBSIZE"}).as<std::int64_t>(), std::ssize(keys));
}

TEST_F(ScriptInStore, ALookWritesNothing) {
  hear(3);
  ask(acquire("i1"));
  now += 11min;
  auto words = ledger_call("EVAL_RO", script_with("local now = tonumber(table.remove(ARGV))\n").text,
                           LedgerInRedis::fleet, Look{}, settings);
  words.push_back(std::to_string(now.time_since_epoch().count()));
  const auto read = read_ledger_reply(store.client().ask(words), Look{});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(std::get<FleetView>(read->answer).members.empty());
}

TEST_F(ScriptInStore, ThePlainOneTakesItsTimeFromTheStore) {
  const auto time = store.client().ask({"TIME"});
  const auto& parts = *time.as<RedisReply::Array>();
  const StoreTime before{std::chrono::seconds(std::stoll(*parts[0].as<std::string>()))};
  const auto read = read_ledger_reply(
      store.client().ask(ledger_call("EVAL", ledger_script().text, "plain", Heartbeat{"a", 1, 1}, settings)),
      Heartbeat{});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_GE(read->now, before);
  EXPECT_LE(read->now, before + 1min);
  const auto again = store.client().ask(ledger_call("EVALSHA", ledger_script().sha1, "plain", Look{}, settings));
  EXPECT_TRUE(read_ledger_reply(again, Look{})) << "its sha1 is another";
}

TEST_F(ScriptInStore, TwoFleetsInOneStoreKnowNothingOfEachOther) {
  ask(acquire("a"));
  ask_for_stored_ledger(store.client(), "another");
  EXPECT_EQ(whole_state(receive_stored_ledger(store.client()).ledger), whole_state({}));
}

// A store that is short of memory may evict any key, alone.
TEST_F(ScriptInStore, WhateverKeyIsEvictedTheRestIsNoLongerThanItSays) {
  for (const std::string& key : keys) {
    SCOPED_TRACE(key);
    store.forget_everything();
    hear(3);
    ask(acquire("i0"));
    store.client().ask({"DEL", key});
    ask(Heartbeat{"i1", 4, 3});
    ask(Heartbeat{"i2", 4, 4});
    const StoredLedger kept = stored();
    FleetHealth sums;
    for (const FleetMember& each : kept.ledger.instances) sums.wanted += each.wanted, sums.healthy += each.healthy;
    EXPECT_EQ(kept.sums, sums);
    EXPECT_EQ(kept.count, kept.ledger.instances.size());
    EXPECT_EQ(look().members.size(), kept.count);
  }
}

TEST_F(ScriptInStore, AKeyOfAnotherTypeIsOneClearErrorAndNothingIsChanged) {
  for (const std::string& key : keys) {
    SCOPED_TRACE(key);
    store.forget_everything();
    ask(acquire("a"));
    store.client().ask({"SET", key, "somebody else's"});
    const StoreTime before = now;
    now += 1s;
    try {
      ask(acquire("a"));
      ADD_FAILURE() << "answered";
    } catch (const std::exception& error) { EXPECT_THAT(error.what(), HasSubstr("WRONGTYPE")); }
    if (key != keys[0]) {
      EXPECT_EQ(*store.client().ask({"HGET", keys[0], "refilled_at"}).as<std::string>(),
                std::to_string(before.time_since_epoch().count()));
    }
  }
}

TEST_F(ScriptInStore, JunkAmongTheRecordsDoesNoHarm) {
  hear(2);
  ask(acquire("a"));
  store.client().ask({"HSET", keys[1], "junk", "junk"});
  store.client().ask({"HSET", keys[2], "i1", "junk"});
  EXPECT_EQ(std::get<Refused>(ask(acquire("b"))).why, Refusal::lease_held);
  EXPECT_EQ(look().permits.size(), 1u);
  now += 11min;
  EXPECT_TRUE(std::holds_alternative<Granted>(ask(acquire("b"))));
}

TEST_F(ScriptInStore, ALedgerWhoseSettingsAreJunkBeginsAnew) {
  ask(acquire("a"));
  store.client().ask({"HSET", keys[0], "settings", "junk"});
  EXPECT_TRUE(std::holds_alternative<Granted>(ask(acquire("b"))));
  EXPECT_EQ(look().permits.size(), 1u);
}
}  // namespace
}  // namespace moult
