#include "master/sleep/call_delivery.h"

#include <gmock/gmock.h>

#include <optional>

#include "tests/unit/sleep/app_at_the_door.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string good = "HTTP/1.1 204 No Content\r\n\r\n";

struct CallDeliveryTest : testing::Test {
  Loop loop;
  std::string says = good;
  bool serves = true;
  AppAtTheDoor app{loop, [this](const std::string&) { return says; }};
  std::optional<DeliveryEnd> end;
  int ends = 0;
  std::unique_ptr<CallDelivery> delivery;

  void begin(const std::string& method = "POST", Duration budget = patience) {
    end.reset();
    delivery = std::make_unique<CallDelivery>(
        loop.get(), CallRequest{app.path(), method, "/jobs/../a?b=%20", "nightly", "2026-01-02T03:04:05.000Z"},
        loop.budget(budget), [this] { return serves; },
        [this](const DeliveryEnd& how) {
          ++ends;
          end = how;
          delivery.reset();  // an owner may
        });
    EXPECT_FALSE(end) << "ended from inside";
  }
  bool ended() {
    return loop.run_until([this] { return end.has_value(); });
  }
};

TEST_F(CallDeliveryTest, TheRequestCarriesTheNameAndTheDueTimeAndTheStatusComesBack) {
  begin();
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->outcome, CallOutcome::answered);
  EXPECT_EQ(end->status, 204);
  ASSERT_EQ(app.heads.size(), 1u);
  EXPECT_THAT(app.heads[0], StartsWith("POST /jobs/../a?b=%20 HTTP/1.1\r\n"));
  for (const char* line : {"Host: localhost\r\n", "X-Moult-Schedule-Name: nightly\r\n", "Content-Length: 0\r\n",
                           "X-Moult-Schedule-At: 2026-01-02T03:04:05.000Z\r\n", "Connection: close\r\n"})
    EXPECT_THAT(app.heads[0], HasSubstr(line));
  EXPECT_THAT(app.heads[0], Not(HasSubstr("Content-Type")));
}

TEST_F(CallDeliveryTest, EachMethodIsSentAsItIs) {
  for (const std::string method : {"GET", "HEAD", "PUT", "PATCH", "DELETE"}) {
    begin(method);
    ASSERT_TRUE(ended()) << method;
    EXPECT_EQ(end->status, 204) << method;
    EXPECT_THAT(app.heads.back(), StartsWith(method + " /jobs"));
  }
}

TEST_F(CallDeliveryTest, AnErrorOfTheAppIsAnAnswer) {
  says = "HTTP/1.1 503 Later\r\nContent-Length: 2\r\n\r\nno";
  begin();
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->outcome, CallOutcome::answered);
  EXPECT_EQ(end->status, 503);
}

TEST_F(CallDeliveryTest, OneThatIsCutOffIsNotSentAgain) {
  says = "";
  begin();
  ASSERT_TRUE(loop.run_until([&] { return app.heads.size() == 1; }));
  app.hang_up();
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->outcome, CallOutcome::cut_off);
  EXPECT_EQ(end->status, std::nullopt);
  EXPECT_FALSE(end->why.empty());
  loop.run_for(300ms);
  EXPECT_EQ(app.heads.size(), 1u);
}

TEST_F(CallDeliveryTest, AnAnswerThatBreaksOffIsNone) {
  says = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf";
  begin();
  ASSERT_TRUE(loop.run_until([&] { return app.heads.size() == 1; }));
  loop.run_for(50ms);
  app.hang_up();
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->outcome, CallOutcome::cut_off);
  EXPECT_EQ(end->status, std::nullopt);
}

TEST_F(CallDeliveryTest, OneThatIsNotAnsweredInTimeIsGivenUp) {
  says = "";
  begin("POST", 200ms);
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->outcome, CallOutcome::timed_out);
  EXPECT_EQ(app.heads.size(), 1u);
}

TEST_F(CallDeliveryTest, WhileNobodyServesNothingIsSent) {
  serves = false;
  begin("POST", 200ms);
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->outcome, CallOutcome::not_served);
  EXPECT_TRUE(app.heads.empty());
}

TEST_F(CallDeliveryTest, ItIsSentWhenSomebodyServes) {
  serves = false;
  begin();
  loop.run_for(50ms);
  EXPECT_FALSE(delivery->is_sent());
  serves = true;
  delivery->look_again();
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->outcome, CallOutcome::answered);
}

TEST_F(CallDeliveryTest, ADoorThatIsShutForAMomentIsTriedAgain) {
  app.shut();
  begin();
  loop.run_for(250ms);
  EXPECT_FALSE(end);
  app.open();
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->outcome, CallOutcome::answered);
  EXPECT_EQ(app.heads.size(), 1u);
}

TEST_F(CallDeliveryTest, ADoorThatStaysShutIsNamed) {
  app.shut();
  begin("POST", 250ms);
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->outcome, CallOutcome::not_served);
  EXPECT_FALSE(end->why.empty());
}

TEST_F(CallDeliveryTest, WhatIsNoHttpIsNoAnswer) {
  says = "hello\r\n\r\n";
  begin();
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->outcome, CallOutcome::cut_off);
}

TEST_F(CallDeliveryTest, ADestroyedOneIsNotTold) {
  says = "";
  begin();
  ASSERT_TRUE(loop.run_until([&] { return app.heads.size() == 1; }));
  delivery.reset();
  loop.run_for(50ms);
  EXPECT_EQ(ends, 0);
}
}  // namespace
}  // namespace moult
