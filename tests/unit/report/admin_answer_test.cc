#include "master/report/admin_answer.h"

#include <gmock/gmock.h>

#include "master/report/linger_report.h"
namespace moult {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

Snapshot of(Mode mode, WorkerState state) {
  WorkerDescription worker{};
  worker.state = state;
  worker.generation = Generation{1};
  return {{mode, 1, Generation{1}, Generation{1}, 0, {worker}, "secret cause"}, {"0.1.0", "shop", "", 7, 1s}};
}

AdminAnswer get(const std::string& path, const Snapshot* snapshot, const AdminRules& rules = {},
                Duration since_loop_turned = 0s) {
  return answer({"GET", path, {}}, rules, {snapshot, since_loop_turned});
}

TEST(AdminAnswer, LivezIsAboutTheLoopAlone) {
  EXPECT_EQ(get("/livez", nullptr, {}, 10s).status, 200);
  EXPECT_EQ(get("/livez", nullptr, {}, 11s).status, 503);
}

TEST(AdminAnswer, ReadyzNeedsOneWorkerThatServesAndNoStop) {
  const Snapshot serving = of(Mode::serve, WorkerState::serving), none = of(Mode::serve, WorkerState::retiring),
                 delay = of(Mode::delay, WorkerState::serving);
  EXPECT_EQ(get("/readyz", &serving).status, 200);
  EXPECT_EQ(get("/readyz", &none).body, "not ready: no worker serves\n");
  EXPECT_EQ(get("/readyz", &delay).body, "not ready: stopping\n");
  EXPECT_EQ(get("/readyz", &delay).status, 503);
  EXPECT_EQ(get("/readyz", nullptr).body, "not ready: starting\n");
}

TEST(AdminAnswer, ReadyzIsReadyWhileReloading) {
  Snapshot reloading = of(Mode::serve, WorkerState::serving);
  reloading.pool.candidate = Generation{2};
  EXPECT_EQ(get("/readyz", &reloading).status, 200);
}

TEST(AdminAnswer, ReadyzSaysBootingBeforeTheFirstReady) {
  Snapshot booting = of(Mode::serve, WorkerState::booting);
  booting.pool.proven = {};
  EXPECT_EQ(get("/readyz", &booting).body, "not ready: booting\n");
}

TEST(AdminAnswer, ReadyzIsReadyAsleepAndWakingButNotWhileCallersAreRefused) {
  Snapshot waking = of(Mode::serve, WorkerState::booting), asleep = of(Mode::sleep, WorkerState::retiring);
  waking.idle = {.state = IdleState::waking};
  asleep.idle = {.state = IdleState::asleep};
  EXPECT_EQ(get("/readyz", &waking).status, 200);
  EXPECT_EQ(get("/readyz", &asleep).status, 200);
  asleep.idle = {.state = IdleState::asleep, .refuses_for = 2s, .failure = "secret cause"};
  EXPECT_EQ(get("/readyz", &asleep).body, "not ready: it could not be woken\n");
}

TEST(AdminAnswer, HealthzSaysWhatReadyzSays) {
  for (const Mode mode : {Mode::serve, Mode::delay, Mode::draining, Mode::quick, Mode::sleep})
    for (const WorkerState state : {WorkerState::booting, WorkerState::serving, WorkerState::retiring}) {
      const Snapshot snapshot = of(mode, state);
      EXPECT_EQ(get("/healthz", &snapshot).body, get("/readyz", &snapshot).body);
    }
}

TEST(AdminAnswer, GivesTheStatusDocumentAndAPageForPeople) {
  const Snapshot serving = of(Mode::serve, WorkerState::serving);
  EXPECT_EQ(get("/status.json", &serving).content_type, "application/json");
  EXPECT_THAT(get("/status.json", &serving).body, HasSubstr("secret cause"));
  EXPECT_THAT(get("/", &serving).body, HasSubstr("<!doctype html>"));
  EXPECT_EQ(get("/", nullptr).status, 200);
  EXPECT_EQ(get("/status.json", nullptr).status, 503);
  EXPECT_EQ(get("/metrics", nullptr).status, 503);
  EXPECT_EQ(get("/metrics", &serving).content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(get("/nothing", &serving).status, 404);
}

TEST(AdminAnswer, HealthOnlyShowsNothingElse) {
  const Snapshot serving = of(Mode::serve, WorkerState::serving);
  const AdminRules rules{AdminPaths::health_only, ""};
  EXPECT_EQ(get("/readyz", &serving, rules).status, 200);
  EXPECT_EQ(get("/metrics", &serving, rules).status, 200);
  EXPECT_EQ(get("/status.json", &serving, rules).status, 404);
  EXPECT_EQ(get("/", &serving, rules).status, 404);
}

TEST(AdminAnswer, AsksForTheTokenButNotForHealth) {
  const Snapshot serving = of(Mode::serve, WorkerState::serving);
  const AdminRules rules{AdminPaths::all, "s3cret"};
  EXPECT_EQ(get("/status.json", &serving, rules).status, 401);
  EXPECT_EQ(get("/nothing", &serving, rules).status, 401);
  EXPECT_EQ(get("/livez", &serving, rules).status, 200);
  EXPECT_EQ(answer({"GET", "/status.json", "Bearer s3cret"}, rules, {&serving, 0s}).status, 200);
  EXPECT_EQ(answer({"GET", "/status.json", "Bearer s3creT"}, rules, {&serving, 0s}).status, 401);
}

TEST(AdminAnswer, ThePageItselfIsNoSecretForItHasNone) {
  const Snapshot serving = of(Mode::serve, WorkerState::serving);
  const AdminAnswer page = get("/", &serving, {AdminPaths::all, "s3cret"});
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, Not(HasSubstr("shop")));
  EXPECT_EQ(get("/events", &serving, {AdminPaths::all, "s3cret"}).status, 401);
}

TEST(AdminAnswer, ThePageAllowsItsOwnScriptAndStyleAlone) {
  const AdminAnswer page = get("/", nullptr);
  for (const char* part : {"default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "connect-src 'self'",
                           "frame-ancestors 'none'"})
    EXPECT_THAT(page.policy, HasSubstr(part));
  for (const char* part : {"unsafe", "http:", "https:", "*"}) EXPECT_THAT(page.policy, Not(HasSubstr(part)));
  for (const char* outside : {"http://", "https://", "src=", "@import", "url("})
    EXPECT_THAT(page.body, Not(HasSubstr(outside)));
  EXPECT_THAT(get("/livez", nullptr).policy, HasSubstr("default-src 'none'"));
}

TEST(AdminAnswer, ThePageHasWordsForEachReasonToWait) {
  for (int why = 0; why <= static_cast<int>(HoldReason::store_unreachable); ++why)
    EXPECT_THAT(get("/", nullptr).body, HasSubstr(std::string(name(static_cast<HoldReason>(why))) + ": \""));
}

TEST(AdminAnswer, ThePageHasWordsForEachReasonToStayAwakeAndEachOutcome) {
  const std::string page = get("/", nullptr).body;
  for (int why = 0; why <= static_cast<int>(BlockedBy::failed_stop); ++why)
    EXPECT_THAT(page, HasSubstr(std::string(name_of(static_cast<BlockedBy>(why))) + ": \""));
  for (const Waker waker : {Waker::caller, Waker::call, Waker::app_due, Waker::operator_wish})
    EXPECT_THAT(page, HasSubstr(std::string(name_of(waker)) + ": \""));
  for (std::size_t i = 1; i < call_outcomes; ++i)  // but the first, answered
    EXPECT_THAT(page, HasSubstr(std::string(name(static_cast<CallOutcome>(i))) + ": \""));
  for (const auto& [outcome, count] : linger_outcomes({})) EXPECT_THAT(page, HasSubstr(std::string(outcome) + ": \""));
}

TEST(AdminAnswer, EventsHaveNoEndAndNoLength) {
  const Snapshot serving = of(Mode::serve, WorkerState::serving);
  const AdminAnswer events = get("/events", &serving);
  EXPECT_EQ(events.kind, AdminBody::events);
  EXPECT_THAT(answer_head(events, "OK"), Not(HasSubstr("Content-Length")));
  EXPECT_THAT(answer_head(get("/livez", nullptr), "OK"), HasSubstr("Content-Length: 3\r\n"));
}

TEST(AdminAnswer, WithoutATokenItIsToldUnderNoOtherName) {
  const Snapshot serving = of(Mode::serve, WorkerState::serving);
  const auto asked_as = [&](std::string_view host, const AdminRules& rules = {}) {
    return answer({.method = "GET", .path = "/status.json", .authorization = "Bearer s3cret", .host = host}, rules,
                  {&serving, 0s})
        .status;
  };
  for (const char* own :
       {"127.0.0.1:9000", "127.0.0.1", "localhost:9000", "localhost", "LocalHost.:9000", "[::1]:9000", "[::1]", ""})
    EXPECT_EQ(asked_as(own), 200) << own;
  for (const char* other : {"evil.example:9000", "127.0.0.1.evil.example", "localhost.evil.example", "1e.example"})
    EXPECT_EQ(asked_as(other), 403) << other;
  EXPECT_EQ(asked_as("moult.example", {AdminPaths::all, "s3cret"}), 200);
}

TEST(AdminAnswer, WithoutATokenPagesOfOtherSitesAreToldNothing) {
  const Snapshot serving = of(Mode::serve, WorkerState::serving);
  const auto asked_by = [&](const char* path, const char* site) {
    return answer({.method = "GET", .path = path, .host = "127.0.0.1", .fetch_site = site}, {}, {&serving, 0s}).status;
  };
  EXPECT_EQ(asked_by("/events", "same-origin"), 200);
  EXPECT_EQ(asked_by("/status.json", "none"), 200);
  for (const char* path : {"/events", "/status.json", "/metrics"}) EXPECT_EQ(asked_by(path, "cross-site"), 403) << path;
  EXPECT_EQ(asked_by("/", "cross-site"), 200);  // a link to it
  EXPECT_EQ(asked_by("/livez", "cross-site"), 200);
}

TEST(AdminAnswer, OnlyLooksNeverActs) {
  const Snapshot serving = of(Mode::serve, WorkerState::serving);
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get", ""}) {
    const AdminAnswer said = answer({method, "/livez", {}}, {}, {&serving, 0s});
    EXPECT_EQ(said.status, 405) << method;
    EXPECT_EQ(said.extra_header, "Allow: GET, HEAD");
  }
  EXPECT_EQ(answer({"HEAD", "/livez", {}}, {}, {&serving, 0s}).status, 200);
}

TEST(Token, MatchesWholeTokensOfTheBearerSchemeOnly) {
  EXPECT_TRUE(token_matches("Bearer abc", "abc"));
  EXPECT_TRUE(token_matches("bEARER abc", "abc"));
  for (const char* wrong : {"", "abc", "Bearer ", "Bearer ab", "Bearer abcd", "Bearer abd", "Basic abc", "Bearer  abc"})
    EXPECT_FALSE(token_matches(wrong, "abc")) << wrong;
}
}  // namespace
}  // namespace moult
