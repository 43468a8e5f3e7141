#pragma once
// The pipes through which stdout and stderr of a worker (or of all of one launcher's) go, when they go through the
// master. Owned by a launcher or by a link; nothing is in it for OutputRoute::inherit.
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "master/launch/child_settings.h"
#include "master/launch/output_relay.h"
namespace moult {
struct WorkerOutput {
  std::unique_ptr<OutputRelay> out, err;
  UniqueFd out_end, err_end;  // for the child

  static Result<WorkerOutput> open(uv_loop_t*, const ChildSettings&, const std::string& prefix);
  void hand_to(std::vector<FdMapping>&) const;  // as 1 and 2, if there are any
  void rename(const std::string& prefix);       // of a spare that takes a slot
  std::uint64_t dropped_lines() const;
};

// "[0] ", "[spare] ": what --worker-prefix puts before each line.
std::string worker_prefix(std::optional<unsigned> slot);
}  // namespace moult
