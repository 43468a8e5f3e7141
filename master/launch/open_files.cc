#include "master/launch/open_files.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/unique_fd.h"
namespace moult {
std::optional<rlim_t> raise_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // not allowed: then it stays as it is
  return before;
}

void open_standard_descriptors() {
  int opened = 0;
  while (opened >= 0 && opened <= STDERR_FILENO) opened = ::open("/dev/null", O_RDWR);  // the lowest that is free
  if (opened > STDERR_FILENO) ::close(opened);
}

namespace {
// The kernel gives the lowest free number, so that number says how many are taken.
bool are_free(std::size_t wanted) {
  rlimit limit{};
  const UniqueFd lowest_free(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  const rlim_t taken = lowest_free ? static_cast<rlim_t>(lowest_free.get()) : limit.rlim_cur;
  return taken + wanted <= limit.rlim_cur;
}
}  // namespace

bool room_for_a_launch(std::size_t promised) {
  return are_free(promised + descriptors_for_a_launch + descriptors_kept_free);
}

bool room_for_a_parked_connection() {
  return are_free(descriptors_for_a_launch + descriptors_kept_free - descriptors_of_a_worker);
}
}  // namespace moult
