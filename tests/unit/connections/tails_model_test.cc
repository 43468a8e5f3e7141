// Random runs of the tails, with a kernel that shows, forgets and refuses as it likes.
#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include <map>

#include "master/connections/tails.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

class TailsModel : public testing::Test {
 protected:
  void post(const TailEvent& event) {
    auto step = transition(std::move(tails), event, policy, now);
    tails = std::move(step.state);
    for (const TailAction& action : step.actions)
      if (const auto* abort = std::get_if<AbortTail>(&action)) answer(abort->id);
  }
  void answer(TailId id) {
    const auto said = static_cast<AbortAnswer>(random.next() % 4);
    if (said == AbortAnswer::done || said == AbortAnswer::gone) kernel.erase(id);
    post(TailAbortAnswered{id, said});
  }
  void look() {
    std::vector<TailReading> readings;
    for (const auto& [id, left] : kernel)
      if (left > 0 || tails.tails.contains(id)) readings.push_back({id, {left, 0, TCP_ESTABLISHED}});
    post(TailsSeen{readings});
    last_look_succeeded = tails.watching;
    if (verdict(tails, policy) != TailVerdict::delivered) return;
    for (const auto& [id, left] : kernel) EXPECT_EQ(left, 0u) << id.value;
  }
  void something_happens() {
    switch (random.next() % 8) {
      case 0: kernel[{++last}] = 1 + random.next() % 3; break;
      case 1:
        if (!kernel.empty()) kernel.erase(kernel.begin());
        break;
      case 2:
        for (auto& [id, left] : kernel) left = random.next() % 4;
        break;
      case 3:
        if (random.next() % 20 == 0) begin_or_end(TailWatchBegins{random.next() % 2 == 0});
        break;
      case 4:
        if (random.next() % 100 == 0) begin_or_end(TailWatchEnds{});
        break;
      case 5:
        post(TailsUnseen{});
        last_look_succeeded = false;
        break;
      case 6: look(); break;
      default: post(TimePassed{});
    }
  }
  void begin_or_end(const TailEvent& event) {
    post(event);
    last_look_succeeded = false;
  }
  std::uint64_t outcomes() const {
    const LingerCounts& c = tails.counts;
    return c.delivered + c.reset + c.aborted + c.fail_closed + c.undelivered;
  }

  const TailPolicy policy{.linger = {}, .abort = {}, .most = 3};
  MonotonicTime now{1000s};
  Tails tails;
  Random random{11};
  std::map<TailId, std::uint64_t> kernel;  // unacknowledged bytes
  std::uint64_t last = 0;
  bool last_look_succeeded = false;
};

// The outcomes sum to those that began, the table keeps its bound, and "delivered" is said only after a look that
// succeeded, and never while it showed somebody who is neither aborted nor at his end.
TEST_F(TailsModel, OutcomesSumToThoseThatBegan) {
  for (int i = 0; i < 100'000; ++i) {
    now += Duration(random.next() % 100'000'000'000);
    something_happens();
    ASSERT_LE(tails.tails.size(), policy.most);
    ASSERT_EQ(tails.counts.begun, outcomes() + underway(tails));
    if (verdict(tails, policy) != TailVerdict::delivered) continue;
    ASSERT_TRUE(last_look_succeeded);
  }
  const LingerCounts& c = tails.counts;
  for (const auto count : {c.delivered, c.reset, c.aborted, c.fail_closed, c.undelivered})
    EXPECT_GT(count, 50u) << "the run went through all of it";
}
}  // namespace
}  // namespace moult
