// Requests as words, replies as answers; every reply that is none of ours is one clear error.
#include "lease/ledger_script.h"

#include <gmock/gmock.h>

namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

const FleetPolicy policy{2, 1500ms, 1.0 / 3, RatePer::fleet, 4, 50};
const FleetSettings offered{policy, "web 1", StoreTime(7us)};

RedisReply list(std::vector<RedisReply> all) { return {RedisReply::Array(std::move(all))}; }
RedisReply words(const Words& all) {
  std::vector<RedisReply> texts;
  for (const std::string& each : all) texts.push_back({each});
  return list(std::move(texts));
}
RedisReply granted() { return words({"1790000000000001", "60000000", "-1800000000", "granted", "17"}); }
RedisReply permit() { return words({"17", "3", "1", "100", "200", "holder", "b"}); }
RedisReply member(const std::string& settings = "2 1500000 0.33333333333333331 fleet 4 50") {
  return words({"b", "4", "3", "100", "50", "no_tokens", "90", "0", settings});
}
RedisReply view(RedisReply permits, RedisReply members) {
  RedisReply::Array all;
  for (const char* field :
       {"1000", "60000000", "5400000000", "view", "8.5", "12", "9", "1 120000000 1 worker 2 50", "b", "50"})
    all.push_back({std::string(field)});
  all.push_back(std::move(permits));
  all.push_back(std::move(members));
  return {std::move(all)};
}
std::string error_of(const RedisReply& reply, const LedgerRequest& asked = Acquire{}) {
  const auto read = read_ledger_reply(reply, asked);
  return read ? "understood" : read.error().message;
}

TEST(LedgerScript, IsCalledWithTheFleetsKeysUnderOneTag) {
  const Words call = ledger_call("EVALSHA", "the-sha", "shop", Look{}, offered);
  EXPECT_THAT(call, ElementsAre("EVALSHA", "the-sha", "4", "{moult:shop}:1:ledger", "{moult:shop}:1:permits",
                                "{moult:shop}:1:members", "{moult:shop}:1:heard", "look", "web 1", "7",
                                "2 1500000 0.33333333333333331 fleet 4 50"));
}

TEST(LedgerScript, SaysEachQuestionInWords) {
  const auto said = [](const LedgerRequest& request) {
    Words all = ledger_arguments(request, offered);
    EXPECT_THAT(Words(all.begin() + 1, all.begin() + 4),
                ElementsAre("web 1", "7", "2 1500000 0.33333333333333331 fleet 4 50"));
    all.erase(all.begin() + 1, all.begin() + 4);
    return all;
  };
  EXPECT_THAT(said(Acquire{{9}, "h", Urgency::routine, StoreTime(5us), {"i", 4, 3}, 1}),
              ElementsAre("acquire", "9", "h", "routine", "5", "i", "4", "3", "1"));
  EXPECT_THAT(said(Acquire{{9}, "h", Urgency::pressure, StoreTime::max(), {"i", 4, 3}, 0}),
              ElementsAre("acquire", "9", "h", "urgent", "9223372036854775807", "i", "4", "3", "0"));
  EXPECT_THAT(said(Renew{"h", 17, "i"}), ElementsAre("renew", "h", "17", "i"));
  EXPECT_THAT(said(Release{"h", 17}), ElementsAre("release", "h", "17"));
  EXPECT_THAT(said(Withdraw{"h", AskId{9}}), ElementsAre("withdraw", "h", "9"));
  EXPECT_THAT(said(Debit{3, "i", AskId{2}, StoreTime(5us)}), ElementsAre("debit", "3", "i", "2", "5"));
  EXPECT_THAT(said(Heartbeat{"i", 4, 3, StoreTime(5us)}), ElementsAre("heartbeat", "i", "4", "3", "5"));
  EXPECT_THAT(said(Look{}), ElementsAre("look"));
}

TEST(LedgerScript, SettingsComeBackAsTheyWent) {
  for (const FleetPolicy& each :
       {policy, FleetPolicy{}, FleetPolicy{most_permits, 24h, 1e-300, RatePer::unlimited, ~0u, 100}}) {
    const auto read = read_settings_words(settings_words(each));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, each);
  }
}

TEST(LedgerScript, SettingsThatAreNoneAreRefused) {
  for (const char* bad :
       {"", "1", "1 120000000 1 worker 2", "1 120000000 1 worker 2 50 ", "1 120000000 1 worker 2 50 7",
        " 1 120000000 1 worker 2 50", "1  120000000 1 worker 2 50", "-1 120000000 1 worker 2 50", "1 -5 1 worker 2 50",
        "1 9007199254740993 1 worker 2 50", "1 120000000 nan worker 2 50", "1 120000000 inf worker 2 50",
        "1 120000000 -1 worker 2 50", "1 120000000 1 wrker 2 50", "1 120000000 1 worker 4294967296 50",
        "1 120000000 1 worker 2 50%"})
    EXPECT_FALSE(read_settings_words(bad)) << bad;
}

TEST(LedgerReply, IsAnAnswerWithTheStoresTime) {
  const auto read = read_ledger_reply(granted(), Acquire{});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->now, StoreTime(1790000000000001us));
  EXPECT_EQ(read->ttl, 60s);
  EXPECT_DOUBLE_EQ(read->tokens, -0.5);
  EXPECT_EQ(std::get<Granted>(read->answer), (Granted{17, true, {}}));
}

TEST(LedgerReply, SaysWhyAndWhenToAskAgain) {
  const auto read = read_ledger_reply(words({"1", "0", "0", "refused", "below_minimum", "5000000"}), Acquire{});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<Refused>(read->answer), (Refused{Refusal::below_minimum, 5s}));
}

TEST(LedgerReply, ShowsTheFleet) {
  const auto read = read_ledger_reply(view(list({permit()}), list({member()})), Look{});
  ASSERT_TRUE(read) << read.error().message;
  const FleetView& seen = std::get<FleetView>(read->answer);
  EXPECT_EQ(seen.ruling, (FleetSettings{{}, "b", StoreTime(50us)}));
  EXPECT_DOUBLE_EQ(seen.tokens, 1.5);
  EXPECT_EQ(seen.health, (FleetHealth{12, 9}));
  EXPECT_THAT(seen.permits, ElementsAre(Permit{"holder", {3}, 17, "b", 1, StoreTime(100us), StoreTime(200us)}));
  EXPECT_THAT(seen.members, ElementsAre(FleetMember{"b", 4, 3, StoreTime(100us), policy, StoreTime(50us),
                                                    PastRefusal{Refusal::no_tokens, StoreTime(90us)}}));
}

TEST(LedgerReply, AStoresErrorIsPassedOnAsItIs) {
  EXPECT_EQ(error_of({RedisError{"WRONGTYPE", "WRONGTYPE Operation against a key"}}),
            "the store refused: WRONGTYPE Operation against a key");
}

TEST(LedgerReply, WhatIsNoneOfOursIsOneClearError) {
  for (const RedisReply& bad : std::vector<RedisReply>{{RedisNil{}},
                                                       {std::int64_t{5}},
                                                       {std::string("OK")},
                                                       list({}),
                                                       words({"1"}),
                                                       words({"", "0", "0", "done"}),
                                                       words({"1", "-1", "0", "done"}),
                                                       words({"1", "0", "nan", "done"}),
                                                       words({"1", "0", "", "done"}),
                                                       words({"1", "done", "0"}),
                                                       words({"x", "0", "0", "granted", "17"}),
                                                       words({"1.5", "0", "0", "granted", "17"}),
                                                       words({"9007199254740993", "0", "0", "granted", "17"}),
                                                       words({"1", "0", "0", "granted"}),
                                                       words({"1", "0", "0", "granted", "-1"}),
                                                       words({"1", "0", "0", "granted", "17", "18"}),
                                                       words({"1", "0", "0", "granted", "99999999999999999999"}),
                                                       words({"1", "0", "0", "grant", "17"}),
                                                       words({"1", "0", "0", "refused", "lease_held"}),
                                                       words({"1", "0", "0", "refused", "lunch", "5"}),
                                                       words({"1", "0", "0", "refused", "store_unreachable", "5"}),
                                                       words({"1", "0", "0", "refused", "late", "-1"}),
                                                       words({"1", "0", "0", "refused", "late", "3600000001"}),
                                                       list({{std::int64_t{1}}, {std::string("granted")}}),
                                                       list({words({"1"}), {std::string("granted")}})})
    EXPECT_THAT(error_of(bad), HasSubstr("is not one of a fleet's ledger"));
}

TEST(LedgerReply, AnAnswerToAnotherQuestionIsNone) {
  const RedisReply done = words({"1", "0", "0", "done"}), late = words({"1", "0", "0", "refused", "late", "0"}),
                   held = words({"1", "0", "0", "refused", "lease_held", "0"}), seen = view(list({}), list({}));
  const std::string other = "answers another question";
  EXPECT_THAT(error_of(done, Acquire{}), HasSubstr(other));
  EXPECT_THAT(error_of(seen, Acquire{}), HasSubstr(other));
  EXPECT_THAT(error_of(done, Look{}), HasSubstr(other));
  EXPECT_THAT(error_of(late, Look{}), HasSubstr(other));
  EXPECT_THAT(error_of(late, Release{}), HasSubstr(other));
  EXPECT_THAT(error_of(late, Withdraw{}), HasSubstr(other));
  for (const LedgerRequest& each : {LedgerRequest(Renew{}), LedgerRequest(Debit{}), LedgerRequest(Heartbeat{})}) {
    EXPECT_THAT(error_of(granted(), each), HasSubstr(other));
    EXPECT_THAT(error_of(held, each), HasSubstr(other));
    EXPECT_EQ(error_of(late, each), "understood");
    EXPECT_EQ(error_of(done, each), "understood");
  }
  EXPECT_EQ(error_of(late, Acquire{}), "understood");
}

TEST(LedgerReply, AViewIsReadToTheLastField) {
  EXPECT_THAT(error_of(view({std::string("none")}, list({})), Look{}), HasSubstr("permits are no list"));
  EXPECT_THAT(error_of(view(list({}), {RedisNil{}}), Look{}), HasSubstr("members are no list"));
  EXPECT_THAT(error_of(view(list({permit(), words({"1"})}), list({})), Look{}), HasSubstr("permits, entry 1"));
  EXPECT_THAT(error_of(view(list({}), list({member("junk")})), Look{}), HasSubstr("members, entry 0"));
  EXPECT_THAT(error_of(view(list({}), list(std::vector(most_instances + 1, member()))), Look{}),
              HasSubstr("members are more than a ledger keeps"));
  EXPECT_EQ(error_of(view(list({}), list(std::vector(most_instances, member()))), Look{}), "understood");
}
}  // namespace
}  // namespace moult
