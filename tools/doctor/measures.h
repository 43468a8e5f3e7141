#pragma once
// What several analyses of doctor measure in the same way. Pure.
#include <optional>
#include <vector>

#include "tools/event_history/history.h"
namespace moult {
// It went because of memory: those that somebody asked for, by hand or by a count, say nothing of a limit.
bool went_because_of_memory(const RecycleLine&);
bool is_routine(const RecycleLine&);

inline constexpr double default_cooldown_seconds = 120;  // --cooldown (recycler/policy.h), where no line says another

// The routine cooldown, by the lines: the one that counted for most.
double stated_cooldown_seconds(const History&);
// The same, or the smallest gap of two routine recycles of an instance where that is less: then the lines know better.
double shown_cooldown_seconds(const History&);

// A recycle that waited for a cooldown begins in a moment after its end: within this factor of it. 1.375 makes 120 s to
// 165 s of the default, the bucket in which the incident showed: sampling, the gate and a boot have their time.
inline constexpr double right_behind = 1.375;
bool is_right_behind(double gap_seconds, double cooldown_seconds);
}  // namespace moult
