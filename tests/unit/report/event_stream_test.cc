#include "master/report/event_stream.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "master/control/event_words.h"
#include "tests/unit/report/test_loop.h"
namespace moult {
namespace {
using nlohmann::json;
using ::testing::ElementsAre;

struct Stream {
  testing::TestLoop loop;
  EventStream stream{loop.get(), "shop", nullptr};
  std::vector<json> told;

  void happen(int exit_status) { stream.write(MasterStopped{exit_status, 0}, {}); }
  void happen_quietly(std::uint64_t count) { stream.write(EventsDropped{count}, {}); }
  void ask(std::uint64_t after, bool wait = false) {
    stream.ask({after, wait}, [this](const Result<std::string>& said) { told.push_back(json::parse(*said)); });
  }
  std::vector<std::uint64_t> counts(const json& answer) {
    std::vector<std::uint64_t> all;
    for (const json& event : answer["events"]) all.push_back(event["count"]);
    return all;
  }
};

TEST(EventStream, TellsWhatIsNewerThanWhatOneHas) {
  Stream s;
  for (std::uint64_t i = 1; i <= 3; ++i) s.happen_quietly(i);
  s.ask(0);
  s.ask(2);
  s.ask(3);
  EXPECT_THAT(s.counts(s.told[0]), ElementsAre(1, 2, 3));
  EXPECT_THAT(s.counts(s.told[1]), ElementsAre(3));
  EXPECT_THAT(s.counts(s.told[2]), ElementsAre());
  for (const json& answer : s.told) EXPECT_EQ(answer["last"], 3);
}

TEST(EventStream, WhoWaitsIsToldOfABurstInOneAnswer) {
  Stream s;
  s.ask(0, true);
  for (std::uint64_t i = 1; i <= 5; ++i) s.happen_quietly(i);
  EXPECT_TRUE(s.told.empty());
  ASSERT_TRUE(s.loop.turn_until([&] { return !s.told.empty(); }));
  EXPECT_THAT(s.counts(s.told[0]), ElementsAre(1, 2, 3, 4, 5));
}

TEST(EventStream, WhoWaitsInVainIsToldSoAfterAWhile) {
  Stream s;
  const auto begin = std::chrono::steady_clock::now();
  s.ask(0, true);
  ASSERT_TRUE(s.loop.turn_until([&] { return !s.told.empty(); }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, longest_event_wait - std::chrono::milliseconds(100));
  EXPECT_EQ(s.told[0], json::parse(R"({"events":[],"last":0,"missed":0})"));
}

TEST(EventStream, TheLastEventOfAllIsToldBeforeTheLoopEnds) {
  Stream s;
  s.ask(0, true);
  s.happen(0);
  ASSERT_EQ(s.told.size(), 1u);
  EXPECT_EQ(s.told[0]["events"][0]["event"], "master_stopped");
}

TEST(EventStream, KeepsSoManyAndSaysHowManyOneHasMissed) {
  Stream s;
  for (std::uint64_t i = 1; i <= kept_events_most + 50; ++i) s.happen_quietly(i);
  s.ask(10);
  EXPECT_EQ(s.told[0]["missed"], 40);
  EXPECT_EQ(s.told[0]["events"][0]["count"], 51);
  s.ask(0);  // who begins has missed nothing
  EXPECT_EQ(s.told[1]["missed"], 0);
}

TEST(EventStream, KeepsSoManyBytesAndTellsThemInPortions) {
  Stream s;
  const std::string long_error(8000, 'x');
  for (int i = 0; i < 200; ++i) s.stream.write(ReloadFinished{Generation{1}, "rejected", long_error}, {});
  std::size_t events = 0, asked = 0;
  for (std::uint64_t after = 0, before = 1; after != before; ++asked) {
    before = after;
    s.ask(after);
    EXPECT_LE(s.told.back().dump().size(), told_event_bytes_most + 20'000);
    events += s.told.back()["events"].size();
    after = s.told.back()["last"];
  }
  EXPECT_GE(asked, 3u);
  EXPECT_LT(events * long_error.size(), kept_event_bytes_most);
  EXPECT_GT(events * long_error.size(), kept_event_bytes_most / 2);
}

TEST(EventStream, SoManyMayWait) {
  Stream s;
  std::vector<bool> refused;
  for (std::size_t i = 0; i <= most_event_waiters; ++i)
    s.stream.ask({0, true}, [&refused](const Result<std::string>& said) { refused.push_back(!said); });
  EXPECT_THAT(refused, ElementsAre(true));
}

TEST(EventStream, KeepsTheLastRecyclesAsSentences) {
  Stream s;
  EXPECT_EQ(s.stream.recent(), nullptr);
  for (unsigned slot = 0; slot < 2 * most_recent_recycles; ++slot)
    s.stream.write(WorkerRecycled{RecycleRecord{.worker = {slot, 100, Generation{1}}}}, {});
  const auto recent = s.stream.recent();
  ASSERT_EQ(recent->size(), most_recent_recycles);
  EXPECT_EQ(recent->front().slot, 2 * most_recent_recycles - 1);
  EXPECT_THAT(recent->front().sentence, ::testing::StartsWith("worker 23 (pid 100) was replaced"));
}

TEST(EventStream, EachEventThatIsWrittenHasWords) {
  const std::vector<Event> all{
      MasterStarted{}, MasterStopped{},  WorkerReadyEvent{}, WorkerExited{},       BootFailed{},     ForkServerGone{},
      ReloadStarted{}, ReloadFinished{}, WorkerRecycled{},   HoldStarted{},        HoldEnded{},      GateUngated{},
      AlarmFiring{},   AlarmCleared{},   PressureFutile{},   ScheduledCallEvent{}, LingersAborted{}, FailedClosed{},
      FellAsleep{},    WokeUp{},         FailedWake{},       FailedStop{},         EventsDropped{}};
  ASSERT_EQ(all.size(), std::variant_size_v<Event>);
  for (const Event& event : all) {
    const json line = json::parse(event_line(event, "shop", {}));
    EXPECT_THAT(event_names(), ::testing::Contains(line["event"].get<std::string>()));
  }
}
}  // namespace
}  // namespace moult
