#include "lease/redis_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/random.h"
#include "lease/redis_password.h"
namespace moult {
namespace {
using testing::HasSubstr;
using testing::Not;
using Kind = RedisAddress::Kind;

RedisAddress read(const std::string& text) {
  const auto address = parse_redis_url(text);
  EXPECT_TRUE(address) << text << ": " << (address ? "" : address.error().message);
  return address ? *address : RedisAddress{};
}
std::string refusal(const std::string& text) {
  const auto address = parse_redis_url(text);
  EXPECT_FALSE(address) << text;
  return address ? "" : address.error().message;
}
std::string over(const std::string& text) { return printable(read(text)); }

TEST(RedisUrl, AHostAloneHasThePortAndTheDatabaseThatEverybodyExpects) {
  const RedisAddress address = read("redis://cache.internal");
  EXPECT_EQ(address.kind, Kind::tcp);
  EXPECT_EQ(address.host, "cache.internal");
  EXPECT_EQ(address.port, 6379);
  EXPECT_EQ(address.database, 0u);
  EXPECT_EQ(address.user + address.password + address.password_file, "");
}

TEST(RedisUrl, EachPartIsRead) {
  const RedisAddress address = read("rediss://moult:s%40cr%2Fet@10.0.0.7:6380/3");
  EXPECT_EQ(address.kind, Kind::tls);
  EXPECT_EQ(address.host, "10.0.0.7");
  EXPECT_EQ(address.port, 6380);
  EXPECT_EQ(address.database, 3u);
  EXPECT_EQ(address.user, "moult");
  EXPECT_EQ(address.password, "s@cr/et");
}

TEST(RedisUrl, AnIpv6HostStandsInBrackets) {
  EXPECT_EQ(read("redis://[::1]").host, "::1");
  EXPECT_EQ(read("redis://[fe80::2]:7000/1").port, 7000);
  EXPECT_EQ(over("redis://[::1]:7000"), "redis://[::1]:7000");
  EXPECT_THAT(refusal("redis://::1:6379"), HasSubstr("stands in brackets"));
  EXPECT_THAT(refusal("redis://[::1"), HasSubstr("']'"));
  EXPECT_THAT(refusal("redis://[::1]x:6379"), HasSubstr("after the ']'"));
  EXPECT_THAT(refusal("redis://[127.0.0.1]"), HasSubstr("no IPv6 address"));
}

TEST(RedisUrl, AUnixSocketIsAPathWithItsDatabaseBehind) {
  const RedisAddress address = read("redis+unix:///run/my%20redis.sock?db=2");
  EXPECT_EQ(address.kind, Kind::unix_socket);
  EXPECT_EQ(address.path, "/run/my redis.sock");
  EXPECT_EQ(address.database, 2u);
  EXPECT_EQ(read("redis+unix://moult:pw@/run/r.sock").password, "pw");
  EXPECT_THAT(refusal("redis+unix://run/r.sock"), HasSubstr("absolute path"));
  EXPECT_THAT(refusal("redis+unix://"), HasSubstr("absolute path"));
}

TEST(RedisUrl, ASocketsPathHasAtMostWhatAnAddressOfTheKernelHolds) {
  EXPECT_EQ(read("redis+unix:///" + std::string(106, 'a')).path.size(), 107u);
  EXPECT_THAT(refusal("redis+unix:///" + std::string(107, 'a')), HasSubstr("108 bytes"));
}

TEST(RedisUrl, APasswordAloneIsTheDefaultUsers) {
  EXPECT_EQ(read("redis://:pw@h").user, "");
  EXPECT_EQ(read("redis://:pw@h").password, "pw");
  EXPECT_EQ(read("redis://u@h").user, "u");
  EXPECT_EQ(read("redis://u:a:b@c@h").password, "a:b@c");  // what is clear need not be encoded
  EXPECT_THAT(refusal("redis://u:@h"), HasSubstr("no password"));
}

TEST(RedisUrl, PortsAndDatabasesHaveBounds) {
  EXPECT_EQ(read("redis://h:65535").port, 65535);
  EXPECT_EQ(read("redis://h:1/16383").database, 16383u);
  for (const char* text : {"redis://h:0", "redis://h:65536", "redis://h:", "redis://h:6379x", "redis://h:-1"})
    EXPECT_THAT(refusal(text), HasSubstr("the port")) << text;
  for (const char* text : {"redis://h/16384", "redis://h/x", "redis://h/1/2", "redis://h/-1"})
    EXPECT_THAT(refusal(text), HasSubstr("the database")) << text;
}

TEST(RedisUrl, WhatIsNoHostIsRefused) {
  for (const char* text : {"redis://", "redis://:6379", "redis:///1", "redis://u:p@", "redis://u:p@:1"})
    EXPECT_THAT(refusal(text), HasSubstr("the host is missing")) << text;
  for (const char* text : {"redis://-h", "redis://.h", "redis://a b", "redis://a%20b", "redis://h\xff"})
    EXPECT_THAT(refusal(text), HasSubstr("no name and no address")) << text;
  EXPECT_EQ(read("redis://" + std::string(253, 'a')).host.size(), 253u);
  EXPECT_THAT(refusal("redis://" + std::string(254, 'a')), HasSubstr("no name and no address"));
}

TEST(RedisUrl, AnotherSchemeIsRefusedWithTheKnownOnes) {
  for (const char* text : {"", "localhost", "http://h", "REDIS:/h", "unix:/run/r.sock", "redis:h"})
    EXPECT_THAT(refusal(text), HasSubstr("redis://, rediss:// or redis+unix://")) << text;
}

TEST(RedisUrl, OptionsAreKnownOrRefused) {
  EXPECT_EQ(read("redis://h?password-file=/run/secrets/pw").password_file, "/run/secrets/pw");
  EXPECT_EQ(read("redis+unix:///s?password-file=/p&db=1").database, 1u);
  EXPECT_THAT(refusal("redis://h?password-file=pw"), HasSubstr("absolute"));
  EXPECT_THAT(refusal("redis://:a@h?password-file=/pw"), HasSubstr("one of them is enough"));
  EXPECT_THAT(refusal("redis://h?db=1"), HasSubstr("after the host"));
  EXPECT_THAT(refusal("redis://h?timeout=1"), HasSubstr("password-file=PATH"));
  EXPECT_THAT(refusal("redis://h#1"), HasSubstr("'#'"));
}

TEST(RedisUrl, PeopleSeeTheUserAndNeitherThePasswordNorItsFile) {
  EXPECT_EQ(over("redis://bob:hunter2@h"), "redis://bob@h:6379");
  EXPECT_EQ(over("redis://:hunter2@h"), "redis://h:6379");
  EXPECT_EQ(over("redis+unix://bo%40b@/s%3F?password-file=/p&db=1"), "redis+unix://bo%40b@/s%3F?db=1");
}

TEST(RedisUrl, AConfigurationFileHasAllButThePassword) {
  for (const char* text : {"redis://bob@127.0.0.1:6379", "redis://127.0.0.1:6379?password-file=/etc/hostname",
                           "redis+unix:///a/b", "rediss://b%20%2F%25b@[::1]:1/7?password-file=/a%26b%3Fc%25",
                           "redis+unix://u@/s%3F?db=3&password-file=/p%C3%A4"}) {
    EXPECT_EQ(without_password(read(text)), text);
    EXPECT_EQ(read(without_password(read(text))), read(text));
  }
  EXPECT_EQ(without_password(read("redis://bob:hunter2@h")), "redis://bob@h:6379");
}

TEST(RedisUrl, ItIsNoLongerThanItMayBe) {
  const std::string start = "redis://:";
  EXPECT_TRUE(parse_redis_url(start + std::string(longest_redis_url_bytes - start.size() - 2, 'p') + "@h"));
  EXPECT_THAT(refusal(start + std::string(longest_redis_url_bytes - start.size() - 1, 'p') + "@h"),
              HasSubstr("4097 bytes"));
}

TEST(RedisUrl, NoErrorContainsThePasswordHoweverItIsBroken) {
  const std::string secret = "hunter2";
  for (const std::string& text :
       {"redis://u:" + secret, "redis://u:" + secret + "/x@h", "redis://" + secret + ":p?x@h",
        "redis://u:%zz" + secret + "@h", "redis://u:" + secret + "%@h", "redis://u:" + secret + "%00@h",
        "redis://u:" + secret + "#@h", "redis://u:" + secret + "@h:x", "redis://u:" + secret + "@h/x",
        "redis://u:" + secret + "@[h", "redis:/" + secret, "redis://h?" + secret, "redis://h?password-file=" + secret,
        "redis+unix://u:" + secret + "@h/p", "redis://[" + secret + "]", "redis://h/" + secret,
        "redis+unix:///p?db=" + secret, secret})
    EXPECT_THAT(refusal(text), Not(HasSubstr(secret))) << text;
}

TEST(RedisUrl, ThePrintableFormIsAUrlWithoutSecrets) {
  EXPECT_EQ(over("rediss://u:pw@h/4"), "rediss://u@h:6379/4");
  EXPECT_EQ(over("redis://:pw@10.1.2.3:7/0"), "redis://10.1.2.3:7");
  EXPECT_EQ(over("redis+unix://u:pw@/run/r.sock?db=2"), "redis+unix://u@/run/r.sock?db=2");
}

TEST(RedisUrl, NoTextMakesItFallOver) {
  const std::string pieces[] = {"redis://",
                                "rediss://",
                                "redis+unix://",
                                "@",
                                ":",
                                "/",
                                "?",
                                "%",
                                "%4",
                                "[",
                                "]",
                                "::1",
                                "db=",
                                "password-file=",
                                "&",
                                "#",
                                "h",
                                "9",
                                std::string(1, '\0')};
  Random random{7};
  for (int run = 0; run < 50'000; ++run) {
    std::string text = pieces[random.next() % 3];
    for (std::uint64_t more = random.next() % 9; more > 0; --more) text += pieces[random.next() % std::size(pieces)];
    const auto address = parse_redis_url(text);
    if (!address || address->kind == Kind::unix_socket) continue;
    ASSERT_EQ(over(printable(*address)), printable(*address)) << text;
  }
}

class PasswordFile : public testing::Test {
 protected:
  PasswordFile() {
    char name[] = "/tmp/moult-password-XXXXXX";
    ::close(::mkstemp(name));
    path_ = name;
  }
  ~PasswordFile() override { ::unlink(path_.c_str()); }
  Result<RedisAddress> with(const std::string& content) {
    std::ofstream(path_, std::ios::trunc) << content;
    return with_password(read("redis://h?password-file=" + path_), "of the environment");
  }
  std::string path_;
};

TEST_F(PasswordFile, ItsFirstLineIsThePassword) {
  EXPECT_EQ(with("s3cret\nmore\n")->password, "s3cret");
  EXPECT_EQ(with("s3cret\r\n")->password, "s3cret");
  EXPECT_EQ(with("with blanks ")->password, "with blanks ");
}

TEST_F(PasswordFile, WithoutAPasswordInItIsAnErrorThatNamesIt) {
  EXPECT_THAT(with("").error().message, HasSubstr(path_));
  EXPECT_THAT(with("\nsecond").error().message, HasSubstr("first line is empty"));
  EXPECT_EQ(with(std::string(longest_redis_password_bytes, 'p'))->password.size(), longest_redis_password_bytes);
  EXPECT_THAT(with(std::string(longest_redis_password_bytes + 1, 'p')).error().message, HasSubstr("more than 4096"));
  ::unlink(path_.c_str());
  EXPECT_THAT(with_password(read("redis://h?password-file=" + path_), nullptr).error().message,
              HasSubstr("No such file"));
}

TEST(RedisPassword, OfTheEnvironmentIsTakenWhereNothingCloserSaysOne) {
  EXPECT_EQ(with_password(read("redis://h"), "env")->password, "env");
  EXPECT_EQ(with_password(read("redis://:url@h"), "env")->password, "url");
  EXPECT_EQ(with_password(read("redis://h"), nullptr)->password, "");
  EXPECT_FALSE(with_password(read("redis://h"), std::string(longest_redis_password_bytes + 1, 'p').c_str()));
}
}  // namespace
}  // namespace moult
