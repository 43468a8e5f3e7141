// Claims of scheduled calls in a real store: at most one holder, also when replies are lost, holders die, and clocks of
// instances differ.
#include "lease/call_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/contract/ledger_in_redis.h"
#include "tests/store/fake_store.h"
#include "tests/store/store_loop.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::HasSubstr;

const WallTime this_year = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());

struct Instance {
  Instance(StoreLoop& on, const std::string& store, const std::string& named, std::uint64_t seed)
      : loop(on),
        claims(loop.get(), seeded(store, seed), "shop", named, [this](const LostCall& call) { lost.push_back(call); }) {
  }
  static RedisOptions seeded(const std::string& store, std::uint64_t seed) {
    RedisOptions to = over_unix(store);
    to.seed = seed;
    return to;
  }
  // What a claim is answered: "ours", "theirs", "too_old", or why there is no answer.
  std::string claim(const CallClaim& of, Duration budget = patience, Duration kept = 1h) {
    std::string said;
    const auto call = claims.claim(of, kept, loop.budget(budget), [&](const Result<ClaimAnswer>& answer) {
      if (!answer) said = answer.error().message;
      else said = *answer == ClaimAnswer::ours ? "ours" : *answer == ClaimAnswer::theirs ? "theirs" : "too_old";
    });
    EXPECT_TRUE(loop.run_until([&] { return !said.empty(); }));
    return said;
  }
  void finish(const CallClaim& of, const std::string& outcome) {
    claims.finish(of, outcome);
    bool written = false;
    claims.when_written(loop.budget(patience), [&] { written = true; });
    EXPECT_TRUE(loop.run_until([&] { return written; }));
  }
  CallClaim next(const std::string& name, WallTime due) { return {name, due, claims.next_token()}; }

  StoreLoop& loop;
  std::vector<LostCall> lost;
  CallClaims claims;
};

class CallClaimsTest : public testing::TestWithParam<std::string> {
 protected:
  RedisReply redis(const std::vector<std::string>& words) { return RedisClient(server.socket()).ask(words); }
  std::string text(const std::vector<std::string>& words) {
    const RedisReply reply = redis(words);
    const auto* said = reply.as<std::string>();
    return said ? *said : "(none)";
  }
  static std::string key(const std::string& name, WallTime due) {
    const auto since = std::chrono::duration_cast<std::chrono::microseconds>(due.time_since_epoch());
    return "{moult:shop}:1:call:" + name + ":" + std::to_string(since.count());
  }
  // As if so much time had passed since each claim in hand was taken.
  void age_claims(Duration by) {
    const RedisReply open = redis({"HGETALL", "{moult:shop}:1:calls"});
    const auto& fields = *open.as<RedisReply::Array>();
    for (std::size_t i = 0; i < fields.size(); i += 2) {
      const std::string& value = *fields[i + 1].as<std::string>();
      const auto blank = value.find(' ');
      const auto lost_at = std::stoll(value.substr(0, blank)) - by / 1us;
      redis({"HSET", "{moult:shop}:1:calls", *fields[i].as<std::string>(),
             std::to_string(lost_at) + value.substr(blank)});
    }
  }

  RedisServer server{{}, GetParam()};
  StoreLoop loop;
  Instance a{loop, server.socket(), "host-a:/run/a b", 1}, b{loop, server.socket(), "host-b:/run/b", 2};
};

TEST_P(CallClaimsTest, OneOfTheFleetHasIt) {
  const CallClaim mine = a.next("nightly", this_year);
  EXPECT_EQ(a.claim(mine), "ours");
  EXPECT_EQ(b.claim(b.next("nightly", this_year)), "theirs");
  EXPECT_EQ(b.claim(b.next("nightly", this_year + 1s)), "ours") << "another time";
  EXPECT_EQ(b.claim(b.next("hourly", this_year)), "ours") << "another call";
  EXPECT_THAT(text({"GET", key("nightly", this_year)}), HasSubstr(" held host-a:/run/a b"));
}

TEST_P(CallClaimsTest, WhoAsksTwiceBecauseAReplyWasLostHasItOnce) {
  const CallClaim mine = a.next("nightly", this_year);
  EXPECT_EQ(a.claim(mine), "ours");
  EXPECT_EQ(a.claim(mine), "ours");
  EXPECT_EQ(a.claim(a.next("nightly", this_year)), "theirs") << "a restarted instance is another";
}

TEST_P(CallClaimsTest, AFinishedOneIsRememberedAndNotLost) {
  const CallClaim mine = a.next("nightly", this_year);
  ASSERT_EQ(a.claim(mine), "ours");
  a.finish(mine, "answered");
  EXPECT_THAT(text({"GET", key("nightly", this_year)}), HasSubstr(" answered host-a:/run/a b"));
  EXPECT_EQ(redis({"HLEN", "{moult:shop}:1:calls"}).as<std::int64_t>()[0], 0);
  age_claims(1h);
  EXPECT_EQ(b.claim(b.next("nightly", this_year)), "theirs");
  EXPECT_TRUE(b.lost.empty());
  const auto expires = *redis({"PTTL", key("nightly", this_year)}).as<std::int64_t>();
  EXPECT_GT(expires, 3'500'000);
  EXPECT_LE(expires, 3'660'000);
}

TEST_P(CallClaimsTest, OneWhoseHolderIsGoneIsReportedLostOnceAndNotMadeAgain) {
  ASSERT_EQ(a.claim(a.next("nightly", this_year), 5s), "ours");
  EXPECT_EQ(b.claim(b.next("nightly", this_year)), "theirs");
  EXPECT_TRUE(b.lost.empty()) << "it is still in hand";
  age_claims(5s + claim_grace);
  EXPECT_EQ(b.claim(b.next("hourly", this_year)), "ours");
  ASSERT_EQ(b.lost.size(), 1u);
  EXPECT_EQ(b.lost[0].name, "nightly");
  EXPECT_EQ(b.lost[0].due, this_year);
  EXPECT_EQ(b.lost[0].holder, "host-a:/run/a b");
  EXPECT_EQ(b.claim(b.next("nightly", this_year)), "theirs");
  a.claims.look();
  EXPECT_EQ(a.claim(a.next("weekly", this_year)), "ours");
  EXPECT_TRUE(a.lost.empty()) << "it was told once";
  EXPECT_EQ(b.lost.size(), 1u);
}

TEST_P(CallClaimsTest, WhoeverOnlyLooksIsToldToo) {
  ASSERT_EQ(a.claim(a.next("nightly", this_year), 5s), "ours");
  age_claims(5s + claim_grace);
  b.claims.look();
  EXPECT_TRUE(loop.run_until([&] { return b.lost.size() == 1; }));
}

TEST_P(CallClaimsTest, WhatIsOlderThanWhatIsRememberedIsNotMade) {
  EXPECT_EQ(a.claim(a.next("nightly", this_year - 2h), patience, 1h), "too_old");
  EXPECT_EQ(a.claim(a.next("nightly", this_year - 2h), patience, 3h), "ours");
}

TEST_P(CallClaimsTest, AStoreThatIsAwayLeavesNobodyTheCall) {
  server.signal(SIGSTOP);
  EXPECT_NE(a.claim(a.next("nightly", this_year), 300ms), "ours");
  server.signal(SIGCONT);
  // It may have been taken: then nobody has it, and it is reported lost.
  const std::string then = b.claim(b.next("nightly", this_year));
  EXPECT_TRUE(then == "ours" || then == "theirs") << then;
}

TEST_P(CallClaimsTest, AThousandTimesThatManyAskForAtOnceAreHadByOneEach) {
  std::map<WallTime, int> held;
  std::vector<std::unique_ptr<RedisCall>> calls;
  std::size_t answers = 0;
  for (int i = 0; i < 1000; ++i) {
    for (Instance* each : {&a, &b}) {
      const WallTime due = this_year + i * 1s;
      calls.push_back(each->claims.claim(each->next("poll", due), 1h, loop.budget(patience),
                                         [&, due](const Result<ClaimAnswer>& answer) {
                                           ++answers;
                                           held[due] += answer && *answer == ClaimAnswer::ours;
                                         }));
    }
  }
  ASSERT_TRUE(loop.run_until([&] { return answers == 2000; }));
  ASSERT_EQ(held.size(), 1000u);
  for (const auto& [due, holders] : held) ASSERT_EQ(holders, 1);
}

TEST_P(CallClaimsTest, WhatLiesThereAndIsNoClaimIsAnError) {
  redis({"RPUSH", key("nightly", this_year), "x"});
  EXPECT_THAT(a.claim(a.next("nightly", this_year)), HasSubstr("the store refused: WRONGTYPE"));
}

INSTANTIATE_TEST_SUITE_P(Stores, CallClaimsTest, testing::Values("redis-server", valkey_server()),
                         [](const auto& store) { return store.index == 0 ? "Redis" : "Valkey"; });

TEST(CallClaims, AStoreThatSpeaksNonsenseIsAnError) {
  for (const std::string answer : {"+OK\r\n", "*0\r\n", "*2\r\n$1\r\nx\r\n$4\r\nours\r\n",
                                   "*2\r\n$1\r\n7\r\n$3\r\nyes\r\n", "*3\r\n$1\r\n7\r\n$4\r\nours\r\n$1\r\nx\r\n"}) {
    FakeStore store([&](const std::vector<std::string>&) { return answer; });
    StoreLoop loop;
    CallClaims claims(loop.get(), over_tcp(store.port()), "shop", "a", [](const LostCall&) { ADD_FAILURE(); });
    std::optional<Result<ClaimAnswer>> said;
    const auto call = claims.claim({"poll", this_year, "t"}, 1h, loop.budget(patience),
                                   [&](const Result<ClaimAnswer>& told) { said.emplace(told); });
    ASSERT_TRUE(loop.run_until([&] { return said.has_value(); }));
    EXPECT_FALSE(*said) << answer;
  }
}
}  // namespace
}  // namespace moult
