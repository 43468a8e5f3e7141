#include "lease/redis_reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lease/redis_greeting.h"
#include "lease/redis_refusal.h"
namespace moult {
namespace {
using testing::HasSubstr;
using testing::Not;

RedisReply whole(const std::string& bytes) {
  RedisReplies replies;
  replies.feed(bytes);
  const auto reply = replies.next();
  EXPECT_TRUE(reply && *reply) << bytes;
  EXPECT_FALSE(replies.next());
  return reply && *reply ? **reply : RedisReply{};
}
std::string refusal(const std::string& bytes, ReplyBounds bounds = {}) {
  RedisReplies replies(bounds);
  replies.feed(bytes);
  const auto reply = replies.next();
  EXPECT_TRUE(reply && !*reply) << bytes;
  replies.feed("+OK\r\n");
  EXPECT_FALSE(replies.next()) << "nothing comes after an error";
  return reply && !*reply ? reply->error().message : "";
}
std::string bulk(std::size_t bytes) { return "$" + std::to_string(bytes) + "\r\n" + std::string(bytes, 'x') + "\r\n"; }

TEST(RedisReplies, EachKindIsAPlainValue) {
  EXPECT_EQ(*whole("+OK\r\n").as<std::string>(), "OK");
  EXPECT_EQ(*whole(":-9223372036854775808\r\n").as<std::int64_t>(), INT64_MIN);
  EXPECT_TRUE(whole("$-1\r\n").as<RedisNil>());
  EXPECT_TRUE(whole("*-1\r\n").as<RedisNil>());
  EXPECT_EQ(*whole(std::string("$3\r\na\0b\r\n", 9)).as<std::string>(), std::string("a\0b", 3));
  EXPECT_TRUE(whole("*0\r\n").as<RedisReply::Array>()->empty());
}

TEST(RedisReplies, AnErrorKeepsItsCodeAndHasABoundAndNoControlCharacters) {
  const auto reply = whole("-NOSCRIPT No matching\tscript.\r\n");
  EXPECT_EQ(reply.as<RedisError>()->code, "NOSCRIPT");
  EXPECT_EQ(reply.as<RedisError>()->message, "NOSCRIPT No matching?script.");
  EXPECT_EQ(whole("-" + std::string(5000, 'E') + "\r\n").as<RedisError>()->message.size(), longest_error_bytes);
}

TEST(RedisReplies, ElementsComeInTheirOrderAndTheirNesting) {
  const auto reply = whole("*3\r\n:1\r\n*2\r\n$1\r\na\r\n-ERR b\r\n$-1\r\n");
  const auto& array = *reply.as<RedisReply::Array>();
  ASSERT_EQ(array.size(), 3u);
  EXPECT_EQ(*array[0].as<std::int64_t>(), 1);
  EXPECT_EQ(*array[1].as<RedisReply::Array>()->at(0).as<std::string>(), "a");
  EXPECT_EQ(array[1].as<RedisReply::Array>()->at(1).as<RedisError>()->code, "ERR");
  EXPECT_TRUE(array[2].as<RedisNil>());
}

TEST(RedisReplies, BytesMayComeCutAnywhere) {
  const std::string bytes = "*2\r\n$3\r\nabc\r\n:7\r\n+OK\r\n";
  RedisReplies replies;
  int seen = 0;
  for (const char byte : bytes) {
    replies.feed({&byte, 1});
    while (const auto reply = replies.next()) seen += *reply ? 1 : 100;
  }
  EXPECT_EQ(seen, 2);
}

TEST(RedisReplies, WhatIsNoReplyIsRefusedWithWhatIsWrong) {
  EXPECT_THAT(refusal("hello\r\n"), HasSubstr("\"h\" as reply type"));
  EXPECT_THAT(refusal("$x\r\n"), HasSubstr("cannot be read"));
  EXPECT_THAT(refusal(":12a\r\n"), HasSubstr("cannot be read"));
  EXPECT_THAT(refusal("*-2\r\n"), HasSubstr("cannot be read"));
  EXPECT_THAT(refusal("*99999999999999999999\r\n"), HasSubstr("cannot be read"));
}

TEST(RedisReplies, AReplyHasAtMostSoManyBytes) {
  const ReplyBounds bounds{64, 10};
  RedisReplies replies(bounds);
  replies.feed(bulk(64 - 7) + bulk(64 - 7) + "+OK\r\n");  // "$57\r\n" and "\r\n"
  for (int count = 0; count < 3; ++count) EXPECT_TRUE(replies.next()) << count;
  EXPECT_THAT(refusal(bulk(64 - 6), bounds), HasSubstr("more than 64 bytes"));
  EXPECT_THAT(refusal("$1000\r\n" + std::string(64, 'x'), bounds), HasSubstr("more than 64 bytes"));
}

TEST(RedisReplies, AReplyHasAtMostSoManyElementsAllLevelsTogether) {
  const ReplyBounds bounds{1000, 4};
  RedisReplies replies(bounds);
  for (int count = 0; count < 3; ++count) {
    replies.feed("*2\r\n*2\r\n:1\r\n:2\r\n:3\r\n");
    EXPECT_TRUE(*replies.next()) << count;
  }
  EXPECT_THAT(refusal("*2\r\n*3\r\n", bounds), HasSubstr("more than 4 elements"));
  EXPECT_THAT(refusal("*2147483647\r\n"), HasSubstr("elements"));
}

TEST(RedisReplies, AReplyIsNoDeeperThanItMayBe) {
  const auto deep = [](std::size_t levels) {
    std::string bytes;
    for (std::size_t level = 0; level < levels; ++level) bytes += "*1\r\n";
    return bytes + ":1\r\n";
  };
  EXPECT_TRUE(whole(deep(deepest_reply)).as<RedisReply::Array>());
  EXPECT_THAT(refusal(deep(deepest_reply + 2)), HasSubstr("depth"));
}

TEST(RedisCommand, WordsAreWrittenWithTheirLengths) {
  EXPECT_EQ(redis_command({"GET", std::string("a\0\r\n", 4)}), std::string("*2\r\n$3\r\nGET\r\n$4\r\na\0\r\n\r\n", 23));
}

TEST(RedisRefusal, WhatPassesIsAskedAgainAndWhatDoesNotIsFinal) {
  const auto recourse = [](const std::string& message) {
    return refusal_of(*whole("-" + message + "\r\n").as<RedisError>()).recourse;
  };
  EXPECT_EQ(recourse("LOADING Redis is loading the dataset in memory"), Recourse::ask_again);
  EXPECT_EQ(recourse("BUSY Redis is busy running a script."), Recourse::ask_again);
  EXPECT_EQ(recourse("ERR max number of clients reached"), Recourse::ask_again);
  EXPECT_EQ(recourse("READONLY You can't write against a read only replica."), Recourse::reconnect);
  EXPECT_EQ(recourse("WRONGPASS invalid"), Recourse::final);
  EXPECT_EQ(recourse("MOVED 1 10.0.0.1:6379"), Recourse::final);
  EXPECT_EQ(recourse("NOSCRIPT No matching script."), Recourse::callers);
  EXPECT_EQ(recourse("ERR something else"), Recourse::callers);
  EXPECT_EQ(recourse("BUSYGROUP exists"), Recourse::callers);
}

TEST(RedisGreeting, SaysOnlyWhatIsWanted) {
  const auto words = [](const RedisAddress& address, const std::string& name) {
    std::string all;
    for (const auto& step : greeting(address, name)) {
      for (const auto& word : step.words) all += word + " ";
      all += "| ";
    }
    return all;
  };
  EXPECT_EQ(words({}, ""), "TIME | ");
  EXPECT_EQ(words({.database = 2, .password = "pw"}, "moult-a"),
            "AUTH pw | SELECT 2 | CLIENT SETNAME moult-a | TIME | ");
  EXPECT_EQ(words({.user = "u", .password = "pw"}, ""), "AUTH u pw | TIME | ");
}

TEST(RedisGreeting, ARefusedLoginIsNeverQuotedFromTheStore) {
  const auto reply = whole("-ERR unknown command 'AUTH', with args beginning with: 'u' 'hunter2'\r\n");
  const auto refused = refusal_of(Greeting::login, reply);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->recourse, Recourse::final);
  EXPECT_THAT(refused->sentence, Not(HasSubstr("hunter2")));
}

TEST(RedisGreeting, ANameIsACourtesyButWhatIsWrongWithTheStoreIsNot) {
  EXPECT_FALSE(refusal_of(Greeting::name, whole("-NOPERM this user has no permissions\r\n")));
  EXPECT_FALSE(refusal_of(Greeting::name, whole("-ERR unknown command\r\n")));
  EXPECT_EQ(refusal_of(Greeting::name, whole("-ERR max number of clients reached\r\n"))->recourse, Recourse::ask_again);
}

TEST(RedisGreeting, ATimeIsTwoNumbers) {
  EXPECT_EQ(read_time(whole("*2\r\n$10\r\n1700000000\r\n$6\r\n000042\r\n"))->time_since_epoch().count(),
            1'700'000'000'000'042);
  for (const char* wrong : {"+OK\r\n", "*1\r\n$1\r\n1\r\n", "*2\r\n$1\r\n1\r\n$7\r\n1000000\r\n", "*2\r\n:1\r\n:1\r\n",
                            "*2\r\n$2\r\n-1\r\n$1\r\n0\r\n", "*2\r\n$13\r\n9999999999999\r\n$1\r\n0\r\n"})
    EXPECT_FALSE(read_time(whole(wrong))) << wrong;
}
}  // namespace
}  // namespace moult
