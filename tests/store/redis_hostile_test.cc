// Stores that say what no store says: one clear error each, and the connection starts anew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/contract/redis_server.h"
#include "tests/store/fake_store.h"
#include "tests/store/go_between.h"
#include "tests/store/store_loop.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class RedisHostile : public testing::Test {
 protected:
  StoreLoop loop_;

  // What a call hears of a store that answers each with these bytes.
  std::string said(const std::string& bytes, bool greets = true) {
    const FakeStore store([bytes](const auto&) { return bytes; }, greets);
    RedisConnection connection(loop_.get(), over_tcp(store.port()));
    const auto asked = ask(loop_, connection, {"GET", "a"}, 1s, IfLost::give_up);
    EXPECT_TRUE(loop_.run_until([&] { return asked->answer.has_value(); }));
    EXPECT_FALSE(connection.describe().trouble.empty()) << bytes.substr(0, 80);
    return asked->said();
  }
};

TEST_F(RedisHostile, AReplyThatIsNoneClosesTheConnectionWithOneClearError) {
  EXPECT_THAT(said("HTTP/1.1 400 Bad Request\r\n\r\n"), HasSubstr("cannot be read: Protocol error, got \"H\""));
  EXPECT_THAT(said("HTTP/1.1 400 Bad Request\r\n\r\n", false), HasSubstr("cannot be read"));
  EXPECT_THAT(said("$-7\r\n"), HasSubstr("cannot be read"));
}

TEST_F(RedisHostile, AReplyBeyondItsBoundsClosesTheConnection) {
  EXPECT_THAT(said("*2147483647\r\n"), HasSubstr("elements"));
  EXPECT_THAT(said("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"), HasSubstr("depth"));
  const std::string huge(longest_reply_bytes, 'x');
  const FakeStore store([&](const auto&) { return "$" + std::to_string(huge.size()) + "\r\n" + huge + "\r\n"; });
  RedisConnection connection(loop_.get(), over_tcp(store.port()));
  EXPECT_THAT(ask_and_wait(loop_, connection, {"GET", "a"}, 2s)->said(), HasSubstr("more than 4194304 bytes"));
}

TEST_F(RedisHostile, ARepliesLargestSizeIsTaken) {
  const std::string large(longest_reply_bytes - 64, 'x');
  const FakeStore store([&](const auto&) { return "$" + std::to_string(large.size()) + "\r\n" + large + "\r\n"; });
  RedisConnection connection(loop_.get(), over_tcp(store.port()));
  EXPECT_EQ(ask_and_wait(loop_, connection, {"GET", "a"})->said(), large);
}

TEST_F(RedisHostile, WhatNobodyAskedForClosesTheConnection) {
  const FakeStore store([](const auto&) { return "+one\r\n+two\r\n"; });
  RedisConnection connection(loop_.get(), over_tcp(store.port()));
  EXPECT_EQ(ask_and_wait(loop_, connection, {"GET", "a"})->said(), "one");
  ASSERT_TRUE(loop_.run_until([&] { return std::string(connection.describe().state) == "idle"; }));
  EXPECT_THAT(connection.describe().trouble, HasSubstr("nobody asked for"));
  EXPECT_EQ(ask_and_wait(loop_, connection, {"GET", "a"})->said(), "one") << "and it starts anew";
}

TEST_F(RedisHostile, ATimeThatIsNoneIsNamedAtOnce) {
  const FakeStore store([](const auto&) { return "+noon\r\n"; }, false);
  RedisConnection connection(loop_.get(), over_tcp(store.port()));
  const auto asked = ask_and_wait(loop_, connection, {"GET", "a"}, 2s);
  EXPECT_THAT(asked->said(), HasSubstr("is it a Redis store?"));
  EXPECT_LT(asked->took(), 1s);
}

TEST_F(RedisHostile, AStoreThatQuotesThePasswordIsNotQuoted) {
  const RedisServer store({"--rename-command", "AUTH", ""});
  RedisOptions options = over_unix(store.socket());
  options.address.password = "hunter2";
  RedisConnection connection(loop_.get(), options);
  const auto asked = ask_and_wait(loop_, connection, {"PING"});
  EXPECT_THAT(asked->said(), HasSubstr("does not take this login (ERR)"));
  EXPECT_THAT(asked->said() + connection.describe().trouble, Not(HasSubstr("hunter2")));
}

TEST_F(RedisHostile, AConnectionThatIsCutBeforeEachReplyIsAskedAgainAndTheReplyCounts) {
  const RedisServer store;
  std::atomic<bool> cut = false;
  const GoBetween between({.store = store.socket(), .cut = [&](std::string_view call) {
                             return call.find("INCR") != std::string_view::npos && cut.exchange(false);
                           }});
  RedisConnection connection(loop_.get(), over_tcp(between.port()));
  for (int i = 1; i <= 100; ++i) {
    cut = true;
    ASSERT_EQ(ask_and_wait(loop_, connection, {"INCR", "a"})->said(), std::to_string(2 * i)) << "it ran twice";
  }
  EXPECT_GE(connection.describe().connects, 100u);
}

TEST_F(RedisHostile, AClusterIsNamedAtOnce) {
  EXPECT_THAT(said("-MOVED 3999 127.0.0.1:6381\r\n"), HasSubstr("name that node (MOVED)"));
  EXPECT_THAT(said("-CLUSTERDOWN The cluster is down\r\n"), HasSubstr("CLUSTER INFO"));
}
}  // namespace
}  // namespace moult
