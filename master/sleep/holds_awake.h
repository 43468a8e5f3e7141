#pragma once
// What each entry of the schedule costs an app that nobody visits: does it hold the app awake, and how long is it awake
// because of it? Found by running the cores themselves, from the first due time for a day of virtual time, with calls
// and wakes that take no time: so an equality, or two entries that only together leave no gap, is judged as it will
// happen. That day stands for all: a line of mon-fri is judged by one of its days.
// Pure; called once, at the start, for status and for a warning. Nothing is refused for it.
#include <string>
#include <vector>

#include "master/sleep/idle.h"
#include "master/sleep/schedule.h"
namespace moult {
// A day, or less of it where there are more calls than these: a call a minute is 1,440 a day.
inline constexpr Duration simulated_day = std::chrono::hours(24);
inline constexpr unsigned most_simulated_calls = 1'500;

struct SimulatedDay {
  Duration awake{}, of{};  // `of` is zero: nothing was due within a day
  bool sleeps = true;      // at least once
};
SimulatedDay simulate_day(const SchedulePolicy&, const IdlePolicy&, Clocks from);

struct HoldsAwake {
  std::string name;
  bool always = false;  // the app does not sleep in that day, and this entry is one that must change for it to
  SimulatedDay alone;   // as if there were no other entry
  std::string words;    // "no: alone it keeps the app awake for 7 h 12 min of 24 h"
};
// One for each entry, in the policy's order. Up to twice as many simulated days as there are entries: measured, 0.3 ms
// for one that is due every five minutes, two seconds for the most that can be written (64, each of them each minute).
std::vector<HoldsAwake> holds_awake(const SchedulePolicy&, const IdlePolicy&, Clocks from);
}  // namespace moult
