// The connection against a real store that is well, restarted, stopped, loading, a replica, or busy.
#include "lease/redis_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/contract/redis_server.h"
#include "tests/store/store_loop.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RedisConnectionTest : public testing::Test {
 protected:
  RedisServer server_;
  StoreLoop loop_;
  int connects_ = 0;
  RedisConnection connection_{loop_.get(), over_unix(server_.socket()), [this] { ++connects_; }};

  std::string said(RedisWords words, Duration budget = patience) {
    return ask_and_wait(loop_, connection_, std::move(words), budget)->said();
  }
  std::string by_another(const std::vector<std::string>& words) {
    const auto reply = RedisClient(server_.socket()).ask(words);
    const auto* text = reply.as<std::string>();
    return text ? *text : reply.as<RedisError>() ? reply.as<RedisError>()->message : "";
  }
};

TEST_F(RedisConnectionTest, ConnectsWhenSomebodyFirstCallsAndIsKept) {
  EXPECT_STREQ(connection_.describe().state, "idle");
  EXPECT_EQ(said({"SET", "a", "1"}), "OK");
  EXPECT_EQ(said({"INCR", "a"}), "2");
  EXPECT_STREQ(connection_.describe().state, "ready");
  EXPECT_EQ(connects_, 1);
  EXPECT_THAT(by_another({"CLIENT", "LIST"}), HasSubstr("name=moult-test"));
}

TEST_F(RedisConnectionTest, CallsArePipelinedAndAnsweredInOrder) {
  std::vector<std::string> order;
  std::vector<std::unique_ptr<RedisCall>> calls;
  for (int i = 0; i < 1000; ++i)
    calls.push_back(connection_.call(
        RedisWords{"ECHO", std::to_string(i)}, loop_.budget(patience), IfLost::ask_again,
        [&order](RedisAnswer answer) { order.push_back(*std::get<RedisReply>(answer).as<std::string>()); }));
  ASSERT_TRUE(loop_.run_until([&] { return order.size() == 1000; }));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], std::to_string(i));
}

TEST_F(RedisConnectionTest, AnErrorThatIsTheCallersComesAsAReply) {
  const auto asked = ask_and_wait(loop_, connection_, {"EVALSHA", std::string(40, '0'), "0"});
  ASSERT_TRUE(asked->reply() && asked->reply()->as<RedisError>());
  EXPECT_EQ(asked->reply()->as<RedisError>()->code, "NOSCRIPT");
}

TEST_F(RedisConnectionTest, WordsAreMadeInTheClockOfTheStore) {
  std::optional<StoreClock::Time> in_store;
  const MonotonicTime now = loop_.now();
  const auto call = connection_.call(
      [&](const StoreClock& clock) {
        in_store = clock.at(now);
        return RedisWords{"PING"};
      },
      loop_.budget(patience), IfLost::ask_again, [](const RedisAnswer&) {});
  ASSERT_TRUE(loop_.run_until([&] { return in_store.has_value(); }));
  const auto wall = std::chrono::system_clock::now();  // the store's too, on this machine
  EXPECT_LT(*in_store, wall);
  EXPECT_GT(*in_store, wall - 5s);
}

TEST_F(RedisConnectionTest, ACancelledCallIsNotAnsweredAndTheOthersAre) {
  ASSERT_EQ(said({"PING"}), "PONG");
  auto first = ask(loop_, connection_, {"ECHO", "first"}, patience);
  auto second = ask(loop_, connection_, {"ECHO", "second"}, patience);
  auto third = ask(loop_, connection_, {"ECHO", "third"}, patience);
  second->call.reset();
  ASSERT_TRUE(loop_.run_until([&] { return third->answer.has_value(); }));
  EXPECT_EQ(first->said(), "first");
  EXPECT_EQ(second->answers, 0);
  EXPECT_EQ(third->said(), "third");
  EXPECT_EQ(connects_, 1);
  EXPECT_EQ(connection_.describe().in_flight, 0u);
}

TEST_F(RedisConnectionTest, ACallAndTheConnectionMayBeDestroyedInsideAnAnswer) {
  auto connection = std::make_unique<RedisConnection>(loop_.get(), over_unix(server_.socket()));
  std::unique_ptr<RedisCall> other;
  int answers = 0;
  auto call = connection->call(RedisWords{"PING"}, loop_.budget(patience), IfLost::ask_again, [&](const RedisAnswer&) {
    ++answers;
    other.reset();
    connection.reset();
  });
  other = connection->call(RedisWords{"PING"}, loop_.budget(patience), IfLost::ask_again,
                           [&](const RedisAnswer&) { ++answers; });
  ASSERT_TRUE(loop_.run_until([&] { return !connection; }));
  EXPECT_EQ(answers, 1);
}

TEST_F(RedisConnectionTest, TheConnectionMayBeDestroyedInsideAFailure) {
  server_.signal(SIGSTOP);
  auto connection = std::make_unique<RedisConnection>(loop_.get(), over_unix(server_.socket()));
  std::vector<std::unique_ptr<RedisCall>> calls;
  int answers = 0;
  for (int i = 0; i < 3; ++i)  // all of them end in the same turn
    calls.push_back(connection->call(RedisWords{"PING"}, loop_.budget(5ms), IfLost::ask_again, [&](const RedisAnswer&) {
      ++answers;
      connection.reset();
      calls.clear();
    }));
  ASSERT_TRUE(loop_.run_until([&] { return !connection; }));
  loop_.run_for(10ms);
  EXPECT_EQ(answers, 1);
}

TEST_F(RedisConnectionTest, TheConnectionMayBeDestroyedWhenItIsConnected) {
  std::unique_ptr<RedisConnection> connection;
  connection = std::make_unique<RedisConnection>(loop_.get(), over_unix(server_.socket()), [&] { connection.reset(); });
  const auto call = connection->call(RedisWords{"PING"}, loop_.budget(patience), IfLost::ask_again,
                                     [](const RedisAnswer&) { FAIL() << "it is gone"; });
  ASSERT_TRUE(loop_.run_until([&] { return !connection; }));
}

TEST_F(RedisConnectionTest, ACallMadeWhenItIsConnectedGoesAheadOfThoseThatWait) {
  std::vector<std::string> order;
  std::unique_ptr<RedisCall> early;
  const auto note = [&](const RedisAnswer& answer) {
    order.push_back(*std::get<RedisReply>(answer).as<std::string>());
  };
  std::unique_ptr<RedisConnection> connection;
  connection = std::make_unique<RedisConnection>(loop_.get(), over_unix(server_.socket()), [&] {
    early = connection->call(RedisWords{"ECHO", "debts"}, loop_.budget(patience), IfLost::ask_again, note);
  });
  const auto waits = connection->call(RedisWords{"ECHO", "question"}, loop_.budget(patience), IfLost::ask_again, note);
  ASSERT_TRUE(loop_.run_until([&] { return order.size() == 2; }));
  EXPECT_THAT(order, ElementsAre("debts", "question"));
}

TEST_F(RedisConnectionTest, ARestartedStoreIsFoundAgainWithinTheBudget) {
  ASSERT_EQ(said({"PING"}), "PONG");
  server_.stop();
  const auto asked = ask(loop_, connection_, {"PING"}, patience);
  ASSERT_TRUE(loop_.run_until([&] { return std::string(connection_.describe().state) == "backing_off"; }));
  EXPECT_THAT(connection_.describe().trouble, HasSubstr(server_.socket()));
  server_.start();
  ASSERT_TRUE(loop_.run_until([&] { return asked->answer.has_value(); }));
  EXPECT_EQ(asked->said(), "PONG");
  EXPECT_EQ(connects_, 2);
  EXPECT_EQ(connection_.describe().trouble, "");
}

TEST_F(RedisConnectionTest, ALostCallIsAskedAgainOnlyIfItMayBe) {
  ASSERT_EQ(said({"PING"}), "PONG");
  server_.signal(SIGSTOP);
  const auto again = ask(loop_, connection_, {"INCR", "again"}, patience, IfLost::ask_again);
  const auto once = ask(loop_, connection_, {"INCR", "once"}, patience, IfLost::give_up);
  ASSERT_TRUE(loop_.run_until([&] { return connection_.describe().in_flight == 2; }));
  server_.stop();
  server_.start();
  ASSERT_TRUE(loop_.run_until([&] { return again->answer && once->answer; }));
  EXPECT_EQ(again->said(), "1");
  ASSERT_TRUE(once->failure());
  EXPECT_TRUE(once->failure()->may_have_run);
}

TEST_F(RedisConnectionTest, AWaitThatDoesNotFitIsNotBegun) {
  server_.stop();
  const auto asked = ask_and_wait(loop_, connection_, {"PING"}, 300ms);
  ASSERT_TRUE(asked->failure());
  EXPECT_FALSE(asked->failure()->may_have_run);
  EXPECT_LT(asked->took(), 300ms) << "50, 100, and the 200 that follow do not fit";
  const auto next = ask(loop_, connection_, {"PING"}, 1ms);
  ASSERT_TRUE(loop_.run_until([&] { return next->answer.has_value(); }));
  EXPECT_THAT(next->said(), HasSubstr("no such file")) << "the last attempt's trouble";
}

TEST_F(RedisConnectionTest, ABudgetThatIsSpentIsAnsweredInTheNextTurn) {
  const auto asked = ask(loop_, connection_, {"PING"}, -1s);
  ASSERT_TRUE(loop_.run_until([&] { return asked->answer.has_value(); }));
  EXPECT_TRUE(asked->failure());
}

TEST_F(RedisConnectionTest, AStoppedStoreIsGivenUpForANewConnectionAfterASilence) {
  ASSERT_EQ(said({"PING"}), "PONG");
  server_.signal(SIGSTOP);
  const auto late = ask_and_wait(loop_, connection_, {"PING"}, 50ms);
  ASSERT_TRUE(late->failure());
  EXPECT_TRUE(late->failure()->may_have_run);
  EXPECT_THAT(late->said(), HasSubstr("no answer in time"));
  loop_.run_for(longest_silence);
  const auto asked = ask(loop_, connection_, {"PING"}, patience);
  EXPECT_STREQ(connection_.describe().state, "connecting");
  server_.signal(SIGCONT);
  ASSERT_TRUE(loop_.run_until([&] { return asked->answer.has_value(); }));
  EXPECT_EQ(asked->said(), "PONG");
  EXPECT_EQ(connects_, 2);
}

TEST_F(RedisConnectionTest, ThereAreAtMostSoManyCalls) {
  server_.signal(SIGSTOP);
  std::vector<std::shared_ptr<Asked>> calls;
  for (std::size_t i = 0; i < most_redis_calls; ++i) calls.push_back(ask(loop_, connection_, {"PING"}, patience));
  const auto surplus = ask(loop_, connection_, {"PING"}, patience);
  ASSERT_TRUE(loop_.run_until([&] { return surplus->answer.has_value(); }));
  EXPECT_THAT(surplus->said(), HasSubstr("4096 calls"));
  calls.front()->call.reset();
  const auto fits = ask(loop_, connection_, {"PING"}, patience);
  server_.signal(SIGCONT);
  ASSERT_TRUE(loop_.run_until([&] { return fits->answer.has_value(); }));
  EXPECT_EQ(fits->said(), "PONG");
}

TEST_F(RedisConnectionTest, AStoreThatRunsAScriptWithoutEndIsAskedAgainUntilItIsEnded) {
  by_another({"CONFIG", "SET", "busy-reply-threshold", "1"});
  RedisConnection other(loop_.get(), over_unix(server_.socket()));
  const auto endless = ask(loop_, other, {"EVAL", "while true do end", "0"}, patience);
  ASSERT_TRUE(loop_.run_until([&] { return by_another({"PING"}).starts_with("BUSY"); }));
  const auto late = ask_and_wait(loop_, connection_, {"GET", "a"}, 200ms);
  EXPECT_THAT(late->said(), HasSubstr("SCRIPT KILL"));
  EXPECT_LE(late->took(), 230ms);
  const auto asked = ask(loop_, connection_, {"ECHO", "back"}, patience);
  loop_.run_for(10ms);
  by_another({"SCRIPT", "KILL"});
  ASSERT_TRUE(loop_.run_until([&] { return asked->answer.has_value(); }));
  EXPECT_EQ(asked->said(), "back");
}

TEST_F(RedisConnectionTest, AReplicaIsLeftForWhateverTheNamePointsToByThen) {
  ASSERT_EQ(said({"PING"}), "PONG");
  by_another({"REPLICAOF", "127.0.0.1", "1"});
  const auto late = ask_and_wait(loop_, connection_, {"SET", "a", "1"}, 200ms);
  EXPECT_THAT(late->said(), HasSubstr("name the primary (READONLY)"));
  EXPECT_GE(connects_, 2);
  const auto asked = ask(loop_, connection_, {"SET", "a", "1"}, patience);
  by_another({"REPLICAOF", "NO", "ONE"});
  ASSERT_TRUE(loop_.run_until([&] { return asked->answer.has_value(); }));
  EXPECT_EQ(asked->said(), "OK");
}

TEST_F(RedisConnectionTest, AStoreThatCannotSaveIsNamed) {
  by_another({"CONFIG", "SET", "save", "3600 1"});
  std::filesystem::create_directory(server_.folder() / "dump.rdb");  // nothing can be renamed to it
  by_another({"BGSAVE"});
  ASSERT_TRUE(loop_.run_until([&] { return by_another({"SET", "a", "1"}).starts_with("MISCONF"); }));
  EXPECT_THAT(said({"SET", "a", "2"}, 200ms), HasSubstr("cannot save to its disk"));
}

TEST_F(RedisConnectionTest, AStoreWithoutMemoryIsNamed) {
  by_another({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_THAT(said({"SET", "a", "1"}, 200ms), HasSubstr("maxmemory"));
}

TEST_F(RedisConnectionTest, APasswordIsAskedForCheckedAndNeverRepeated) {
  by_another({"CONFIG", "SET", "requirepass", "hunter2"});
  const auto with = [&](const std::string& user, const std::string& password) {
    RedisOptions options = over_unix(server_.socket());
    options.address.user = user;
    options.address.password = password;
    RedisConnection connection(loop_.get(), options);
    const auto asked = ask_and_wait(loop_, connection, {"PING"});
    EXPECT_LT(asked->took(), 5s) << "what will not change is answered at once";
    EXPECT_THAT(asked->said() + connection.describe().trouble + connection.describe().store, Not(HasSubstr("hunter")));
    return asked->said();
  };
  EXPECT_EQ(with("", "hunter2"), "PONG");
  EXPECT_EQ(with("default", "hunter2"), "PONG");
  EXPECT_THAT(with("", "hunter3"), HasSubstr("does not accept this user and password"));
  EXPECT_THAT(with("nobody", "hunter2"), HasSubstr("does not accept this user and password"));
  EXPECT_THAT(with("", ""), HasSubstr("wants a password"));
}

TEST_F(RedisConnectionTest, APasswordForAStoreWithoutOneIsNamed) {
  RedisOptions options = over_unix(server_.socket());
  options.address.password = "hunter2";
  RedisConnection connection(loop_.get(), options);
  const auto asked = ask_and_wait(loop_, connection, {"PING"});
  EXPECT_THAT(asked->said(), HasSubstr("the store has no password"));
  EXPECT_THAT(asked->said(), Not(HasSubstr("hunter2")));
}

TEST_F(RedisConnectionTest, AUserWithoutTheRightsIsNamed) {
  by_another({"ACL", "SETUSER", "poor", "on", ">pw", "~*", "+ping"});
  RedisOptions options = over_unix(server_.socket());
  options.address.user = "poor";
  options.address.password = "pw";
  RedisConnection connection(loop_.get(), options);
  EXPECT_THAT(ask_and_wait(loop_, connection, {"PING"})->said(), HasSubstr("ACL does not allow"));
}

TEST_F(RedisConnectionTest, TheDatabaseIsTheOneThatWasChosen) {
  RedisOptions options = over_unix(server_.socket());
  options.address.database = 3;
  RedisConnection connection(loop_.get(), options);
  EXPECT_EQ(ask_and_wait(loop_, connection, {"SET", "a", "in three"})->said(), "OK");
  EXPECT_THAT(by_another({"GET", "a"}), "");
  options.address.database = 16;
  RedisConnection beyond(loop_.get(), options);
  EXPECT_THAT(ask_and_wait(loop_, beyond, {"PING"})->said(), HasSubstr("does not give us this database"));
}

TEST_F(RedisConnectionTest, AStoreWithAllItsClientsIsNamedAndAskedAgain) {
  RedisClient one(server_.socket());
  one.ask({"CONFIG", "SET", "maxclients", "1"});
  EXPECT_THAT(said({"PING"}, 200ms), HasSubstr("maxclients"));
  one.ask({"CONFIG", "SET", "maxclients", "10"});
  EXPECT_EQ(said({"PING"}), "PONG");
}

TEST(RedisConnectionLoading, AStoreThatLoadsIsAskedAgainUntilItHasLoaded) {
  RedisServer server({"--enable-debug-command", "yes"});
  RedisClient client(server.socket());
  client.ask({"DEBUG", "POPULATE", "20000"});
  client.ask({"CONFIG", "SET", "key-load-delay", "200"});  // microseconds a key
  client.ask({"CONFIG", "SET", "loading-process-events-interval-bytes", "1024"});
  StoreLoop loop;
  RedisConnection connection(loop.get(), over_unix(server.socket()));
  ASSERT_EQ(ask_and_wait(loop, connection, {"PING"})->said(), "PONG");
  RedisConnection other(loop.get(), over_unix(server.socket()));
  const auto reload = ask(loop, other, {"DEBUG", "RELOAD"}, patience);
  bool seen = false;
  ASSERT_TRUE(loop.run_until([&] {
    seen =
        seen || ask_and_wait(loop, connection, {"GET", "a"}, 20ms)->said().find("still loading") != std::string::npos;
    return seen;
  }));
  EXPECT_EQ(ask_and_wait(loop, connection, {"ECHO", "loaded"})->said(), "loaded");
}
}  // namespace
}  // namespace moult
