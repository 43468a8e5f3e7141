#include "master/sleep/holds_awake.h"

#include <algorithm>
#include <deque>
namespace moult {
namespace {
using namespace std::chrono_literals;

// Both cores on one virtual clock; workers start, answer and end at once.
class Simulation {
 public:
  Simulation(const SchedulePolicy& schedule, const IdlePolicy& idle, Clocks from)
      : schedule_policy_(schedule), idle_policy_(idle), now_(from), schedule_(begin(schedule, from)) {
    schedule_policy_.look_at_least_every = 2 * simulated_day;  // nobody sets this clock
    idle_policy_.look_at_least_every = 2 * simulated_day;
    idle_ = begin(IdleState::asleep, idle_policy_, from.monotonic).state;
  }

  SimulatedDay run() {
    SimulatedDay day;
    const auto due = next_due(schedule_);
    if (!due || *due == WallTime::max() || *due - now_.wall > simulated_day) return day;
    pass(*due - now_.wall);
    const MonotonicTime end = now_.monotonic + simulated_day;
    day.sleeps = false;
    while (now_.monotonic < end && calls_ < most_simulated_calls) {
      const Duration step = std::min(next_deadline(), end) - now_.monotonic;
      day.of += step;
      if (idle_.state == IdleState::asleep) day.sleeps = true;
      else day.awake += step;
      pass(step);
    }
    return day;
  }

 private:
  MonotonicTime next_deadline() const {
    return std::min(moult::next_deadline(idle_, now_.monotonic),
                    moult::next_deadline(schedule_, schedule_policy_, now_));
  }
  void pass(Duration by) {
    now_.monotonic += by;
    now_.wall += by;
    post(ScheduleEvent{TimePassed{}});
    post(IdleEvent{TimePassed{}});
  }
  void post(const ScheduleEvent& event) {
    auto step = transition(std::move(schedule_), event, schedule_policy_, now_);
    schedule_ = std::move(step.state);
    for (const auto& action : step.actions) std::visit([this](const auto& a) { perform(a); }, action);
  }
  void post(const IdleEvent& event) {
    auto step = transition(idle_, event, idle_policy_, now_.monotonic);
    idle_ = step.state;
    for (const auto& action : step.actions) std::visit([this](const auto& a) { perform(a); }, action);
  }
  void perform(const Claim& a) { post(ScheduleEvent{Claimed{a.name, true}}); }
  void perform(const Deliver& a) {
    ++calls_;
    post(IdleEvent{CallDue{}});
    post(ScheduleEvent{Answered{a.name, 200}});
  }
  void perform(const Sweep&) {
    post(IdleEvent{Swept{look([this] { return next_call_due(schedule_, now_); }, [] { return Activity{}; })}});
  }
  void perform(const Serve&) { post(IdleEvent{FirstServing{}}); }
  void perform(const Sleep&) { post(IdleEvent{LastGone{}}); }
  template <class Other>
  void perform(const Other&) {}

  SchedulePolicy schedule_policy_;
  IdlePolicy idle_policy_;
  Clocks now_;
  Schedule schedule_;
  Idle idle_;
  unsigned calls_ = 0;
};

std::string in_words(Duration time) {
  const auto minutes = std::chrono::round<std::chrono::minutes>(time).count();
  if (time < 1min) return std::to_string(std::chrono::round<std::chrono::seconds>(time).count()) + " s";
  if (minutes < 60) return std::to_string(minutes) + " min";
  const std::string hours = std::to_string(minutes / 60) + " h";
  return minutes % 60 == 0 ? hours : hours + " " + std::to_string(minutes % 60) + " min";
}

std::string of_a_day(const SimulatedDay& day) {
  const double share = day.of == 0ns ? 0 : static_cast<double>(day.awake.count()) / static_cast<double>(day.of.count());
  const auto awake = std::chrono::duration_cast<Duration>(share * std::chrono::duration<double>(simulated_day));
  return in_words(awake) + " of " + in_words(simulated_day);
}

SchedulePolicy without(SchedulePolicy policy, std::size_t entry) {
  policy.calls.erase(policy.calls.begin() + static_cast<std::ptrdiff_t>(entry));
  return policy;
}

struct Entry {
  SimulatedDay alone;
  SimulatedDay others;  // only asked for where the app never sleeps
};

std::string words_for(const Entry& entry, bool always, Duration idle) {
  if (idle <= Duration::zero()) return "no: the app never sleeps, because --idle is 0";
  if (entry.alone.of == Duration::zero()) return "no: it is not due within 24 h";
  if (!always) return "no: alone it keeps the app awake for " + of_a_day(entry.alone);
  const std::string why = entry.alone.sleeps ? "together with other entries it is always due within --idle "
                                             : "it is always due within --idle ";
  return "yes: " + why + in_words(idle) + ", so the app does not sleep all day; without it, it would be awake for " +
         of_a_day(entry.others);
}
}  // namespace

SimulatedDay simulate_day(const SchedulePolicy& schedule, const IdlePolicy& idle, Clocks from) {
  return Simulation(schedule, idle, from).run();
}

std::vector<HoldsAwake> holds_awake(const SchedulePolicy& schedule, const IdlePolicy& idle, Clocks from) {
  const bool never_sleeps = idle.idle > Duration::zero() && !simulate_day(schedule, idle, from).sleeps;
  std::vector<Entry> entries;
  bool one_is_to_blame = false;
  const auto is_to_blame = [](const Entry& each) { return !each.alone.sleeps || each.others.sleeps; };
  for (std::size_t i = 0; i < schedule.calls.size(); ++i) {
    entries.push_back({.alone = simulate_day({{schedule.calls[i]}}, idle, from)});
    if (never_sleeps) entries.back().others = simulate_day(without(schedule, i), idle, from);
    one_is_to_blame = one_is_to_blame || is_to_blame(entries.back());
  }
  std::vector<HoldsAwake> all;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& each = entries[i];
    const bool is_due = each.alone.of > Duration::zero();
    const bool always = never_sleeps && is_due && (is_to_blame(each) || !one_is_to_blame);  // else all of them together
    all.push_back({schedule.calls[i].name, always, each.alone, words_for(each, always, idle.idle)});
  }
  return all;
}
}  // namespace moult
