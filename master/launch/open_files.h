#pragma once
// The limit of open files. The master holds a few descriptors for each worker and each parked connection, so it raises
// its own soft limit to the hard one; what it launches gets the limit back that moult was started with, because
// programs exist that close every possible descriptor, or select() on them.
#include <sys/resource.h>

#include <cstddef>
#include <optional>
namespace moult {
// The soft limit as it was before; none: it could not be read. Called once, by Instance, before anything is launched.
std::optional<rlim_t> raise_open_files();

// Where moult was started with one of 0, 1 and 2 closed, /dev/null is opened there: else a socket of ours would get
// that number, and what somebody prints would be written into it. Called first in main.
void open_standard_descriptors();

// A launch takes descriptors for as long as its worker lives. Were it allowed the last ones, nobody could reach the
// master any more to ask for fewer workers: so it leaves these free.
inline constexpr rlim_t descriptors_for_a_launch = 8;
// For a fork server that loads (about ten), a few control and admin clients, a log that is reopened.
inline constexpr rlim_t descriptors_kept_free = 16;
// `promised`: descriptors that launches under way will still take: a pidfd each, once their pid is known, and the statm
// that is opened at READY.
bool room_for_a_launch(std::size_t promised = 0);
// For one connection of a worker that retires: the next launch has room beside it once that worker is gone.
inline constexpr rlim_t descriptors_of_a_worker = 3;  // that its end frees, at the least: channel, pidfd, statm
bool room_for_a_parked_connection();
}  // namespace moult
