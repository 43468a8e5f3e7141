#pragma once
// The limit of open files. The master holds a few descriptors for each worker and each parked connection, so it raises
// its own soft limit to the hard one; what it launches gets the limit back that moult was started with, because
// programs exist that close every possible descriptor, or select() on them.
#include <sys/resource.h>

#include <optional>
namespace moult {
// The soft limit as it was before; none: it could not be read. Called once, by Instance, before anything is launched.
std::optional<rlim_t> raise_open_files();
}  // namespace moult
