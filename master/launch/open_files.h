#pragma once
// The limit of open files. The master holds a few descriptors for each worker and each parked connection, so it raises
// its own soft limit to the hard one; what it launches gets the limit back that moult was started with, because
// programs exist that close every possible descriptor, or select() on them.
#include <sys/resource.h>

#include <optional>
namespace moult {
// The soft limit as it was before; none: it could not be read. Called once, by Instance, before anything is launched.
std::optional<rlim_t> raise_open_files();

// A launch takes descriptors for as long as its worker lives. Were it allowed the last ones, nobody could reach the
// master any more to ask for fewer workers: so it leaves these free.
inline constexpr rlim_t descriptors_for_a_launch = 8;
inline constexpr rlim_t descriptors_kept_free =
    12;  // a few control and admin clients, a fork server's load, a log reopened
bool room_for_a_launch();
}  // namespace moult
