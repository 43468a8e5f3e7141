#include "master/launch/open_files.h"
namespace moult {
std::optional<rlim_t> raise_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // not allowed: then it stays as it is
  return before;
}
}  // namespace moult
