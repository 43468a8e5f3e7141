#pragma once
// The state of the app's sleep as a text that survives a restart (--state-dir): one line, the state's name. Pure; the
// sleeper writes it at each change, so that a master that is killed is believed.
//
// Stopping and waking are asleep after a restart: there are no workers, and the next caller wakes the app as ever.
// Whatever is not exactly one of the four lines (an empty file, a torn one, one of another version) means active: an
// app that serves without need costs memory, one that sleeps without need costs its visitors.
#include <string>
#include <string_view>

#include "master/sleep/idle.h"
namespace moult {
std::string saved_text(IdleState);
IdleState state_from_saved(std::string_view text);  // active or asleep
}  // namespace moult
