#include "master/report/admin_answer.h"

#include <gmock/gmock.h>
namespace moult {
namespace {
using ::testing::HasSubstr;
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
                 delay = of(Mode::delay, WorkerState::serving), asleep = of(Mode::sleep, WorkerState::retiring);
  EXPECT_EQ(get("/readyz", &serving).status, 200);
  EXPECT_EQ(get("/readyz", &none).body, "not ready: no worker serves\n");
  EXPECT_EQ(get("/readyz", &delay).body, "not ready: stopping\n");
  EXPECT_EQ(get("/readyz", &delay).status, 503);
  EXPECT_EQ(get("/readyz", &asleep).status, 503);
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

TEST(AdminAnswer, HealthzIsContentAsleepToo) {
  const Snapshot serving = of(Mode::serve, WorkerState::serving), asleep = of(Mode::sleep, WorkerState::retiring),
                 quick = of(Mode::quick, WorkerState::serving);
  EXPECT_EQ(get("/healthz", &serving).status, 200);
  EXPECT_EQ(get("/healthz", &asleep).status, 200);
  EXPECT_EQ(get("/healthz", &quick).status, 503);
}

TEST(AdminAnswer, GivesTheStatusDocumentAndALineForPeople) {
  const Snapshot serving = of(Mode::serve, WorkerState::serving);
  EXPECT_EQ(get("/status.json", &serving).content_type, "application/json");
  EXPECT_THAT(get("/status.json", &serving).body, HasSubstr("secret cause"));
  EXPECT_EQ(get("/", &serving).body,
            "moult 0.1.0, shop: serving, 1 of 1 workers serve. See /status.json and /metrics\n");
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
