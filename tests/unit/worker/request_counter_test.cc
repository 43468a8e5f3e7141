#include "worker/request_counter.h"

#include <gtest/gtest.h>

namespace moult {
namespace {
using Caller = WorkerContext::Caller;

struct Counted : testing::Test {
  ScoreboardMemory scoreboard = *ScoreboardMemory::create();
  RequestCounter requests{scoreboard};
  std::uint64_t operator[](ScoreboardField field) const { return scoreboard.read(field); }
};

struct RequestCounting : Counted {};

TEST_F(RequestCounting, TellsVisitorsFromScheduledCalls) {
  const auto visit = requests.started(Caller::visitor, 100);
  const auto call = requests.started(Caller::schedule, 200);
  EXPECT_EQ((*this)[ScoreboardField::requests_started], 1u);
  EXPECT_EQ((*this)[ScoreboardField::calls_started], 1u);
  EXPECT_EQ((*this)[ScoreboardField::last_visitor_activity_ns], 100u);
  requests.finished(call, 500, 300);
  EXPECT_EQ((*this)[ScoreboardField::calls_finished], 1u);
  EXPECT_EQ((*this)[ScoreboardField::responses_5xx], 1u);
  EXPECT_EQ((*this)[ScoreboardField::requests_finished], 0u);
  EXPECT_EQ((*this)[ScoreboardField::last_visitor_activity_ns], 100u) << "a call is no activity of a visitor";
  requests.finished(visit, 499, 400);
  EXPECT_EQ((*this)[ScoreboardField::requests_finished], 1u);
  EXPECT_EQ((*this)[ScoreboardField::responses_5xx], 1u);
  EXPECT_EQ((*this)[ScoreboardField::last_visitor_activity_ns], 400u);
}

TEST_F(RequestCounting, ShowsWhenTheOldestPlainRequestBegan) {
  const auto first = requests.started(Caller::visitor, 100);
  const auto second = requests.started(Caller::visitor, 200);
  const auto third = requests.started(Caller::visitor, 300);
  EXPECT_EQ((*this)[ScoreboardField::oldest_plain_request_ns], 100u);
  requests.finished(second, 200, 310);
  EXPECT_EQ((*this)[ScoreboardField::oldest_plain_request_ns], 100u);
  requests.is_long(first);
  EXPECT_EQ((*this)[ScoreboardField::oldest_plain_request_ns], 300u);
  requests.finished(third, 200, 320);
  EXPECT_EQ((*this)[ScoreboardField::oldest_plain_request_ns], 0u);
  requests.finished(first, 200, 330);
  EXPECT_EQ((*this)[ScoreboardField::requests_finished], 3u);
}

TEST_F(RequestCounting, LeavesScheduledCallsOutOfTheOldest) {
  requests.started(Caller::schedule, 100);
  EXPECT_EQ((*this)[ScoreboardField::oldest_plain_request_ns], 0u);
}

TEST_F(RequestCounting, DoesNotCountWhatTheSidecarAsks) {
  const auto beside = requests.started(Caller::sidecar, 100);
  requests.is_long(beside);
  requests.finished(beside, 503, 200);
  for (const auto field :
       {ScoreboardField::requests_started, ScoreboardField::requests_finished, ScoreboardField::calls_started,
        ScoreboardField::calls_finished, ScoreboardField::last_visitor_activity_ns,
        ScoreboardField::oldest_plain_request_ns, ScoreboardField::responses_5xx})
    EXPECT_EQ((*this)[field], 0u);
}

TEST_F(RequestCounting, AHealthCheckIsNoActivityAndNeverInFlightAndCountsWhenItIsFinished) {
  const auto visit = requests.started(Caller::visitor, 100);
  const auto check = requests.started(Caller::ignored, 200);
  EXPECT_EQ((*this)[ScoreboardField::requests_started], 1u);
  requests.finished(visit, 200, 300);
  EXPECT_EQ((*this)[ScoreboardField::oldest_plain_request_ns], 0u);
  requests.finished(check, 503, 400);
  EXPECT_EQ((*this)[ScoreboardField::requests_started], 2u);
  EXPECT_EQ((*this)[ScoreboardField::requests_finished], 2u);
  EXPECT_EQ((*this)[ScoreboardField::calls_finished], 0u);
  EXPECT_EQ((*this)[ScoreboardField::responses_5xx], 1u);
  EXPECT_EQ((*this)[ScoreboardField::last_visitor_activity_ns], 300u);
}

TEST_F(RequestCounting, CountsARequestThatIsFinishedTwiceOnce) {
  const auto request = requests.started(Caller::visitor, 100);
  requests.finished(request, 200, 200);
  requests.finished(request, 500, 300);
  requests.finished(request + 1, 500, 300);
  EXPECT_EQ((*this)[ScoreboardField::requests_finished], 1u);
  EXPECT_EQ((*this)[ScoreboardField::responses_5xx], 0u);
}
}  // namespace
}  // namespace moult
