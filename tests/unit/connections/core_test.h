#pragma once
// One pure core under a test, in virtual time: events in, and in words what it wants done.
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/step.h"
namespace moult {
template <class State, class Event, class Action, class Policy>
class CoreTest : public testing::Test {
 protected:
  CoreTest(std::string (*in_words)(const Action&), Policy how) : policy(std::move(how)), in_words_(in_words) {}

  std::vector<std::string> post(const Event& event) {
    auto step = transition(std::move(state), event, policy, now);
    state = std::move(step.state);
    std::vector<std::string> told;
    for (const Action& action : step.actions) told.push_back(in_words_(action));
    return told;
  }
  std::vector<std::string> after(Duration time) {
    now += time;
    return post(TimePassed{});
  }
  MonotonicTime next() const { return next_deadline(state, now); }

  Policy policy;
  MonotonicTime now{std::chrono::seconds(1000)};
  State state;

 private:
  std::string (*in_words_)(const Action&);
};
}  // namespace moult
