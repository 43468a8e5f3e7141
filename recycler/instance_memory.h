#pragma once
// How much memory this instance may still take before the kernel kills: from the cgroup that it lives in (v2, or v1)
// and those around it, else from the host. Found once, at start; looked at by memory_watch.
//
// What counts as used is the working set: pages of files that nobody used lately are given up before anybody is killed.
// Of several nested limits the one with the least headroom binds, whoever of its members took it.
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "recycler/own_cgroup.h"
namespace moult {
struct MemoryLook {
  std::uint64_t limit_bytes, headroom_bytes;
  std::string bound_by;  // the folder of the cgroup that binds, or "host"
};

class InstanceMemory {
 public:
  // `root` stands before every path, for tests.
  explicit InstanceMemory(std::string root = "");

  // An error names the file that vanished or is not as expected: nothing is guessed.
  Result<MemoryLook> look() const;

  // How many processes the kernel has killed for memory in this cgroup (without one: on this host). It only rises; one
  // more, and a worker that died by SIGKILL, make an OOM kill.
  Result<std::uint64_t> oom_kills() const;

  // The folders with memory.oom.group=1: an OOM there kills moult together with its worker.
  std::vector<std::string> oom_groups() const;

  // A descriptor on which POLLPRI (UV_PRIORITIZED) says that tasks stalled for memory: a reason to look at once. Of the
  // own cgroup, else of the host. Often not allowed, or not there; then looks at their usual times must do.
  Result<UniqueFd> arm_pressure() const;

 private:
  std::string root_;
  CgroupVersion version_ = CgroupVersion::none;
  std::vector<std::string> levels_;  // with root: the own folder first
};
}  // namespace moult
