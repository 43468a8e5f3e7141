#pragma once
// Was it the kernel's OOM killer? Whether the number of processes that it has killed in our memory cgroup (at the root
// of cgroup v2: on this machine) has risen. Owned by Reporting, called on the loop's thread: one small read.
#include <cstdint>
#include <optional>
#include <string>

#include "master/pool/exit.h"
#include "master/pool/worker_state.h"
#include "recycler/instance_memory.h"
namespace moult {
class OomKills {
 public:
  // `root` stands before every path, for tests.
  explicit OomKills(const std::string& root = "") : memory_(root), seen_(read()) {}

  // A moment when nobody has just died: deaths before it explain no later one.
  void look();
  // True: killed by a SIGKILL that we did not send, and the count had risen since we last looked; one rise explains one
  // death. None: the count cannot be read here.
  std::optional<bool> killed(WorkerState state_before, const Exit&);
  std::uint64_t explained() const { return explained_; }  // how many deaths so far

 private:
  std::optional<std::uint64_t> read() const;
  InstanceMemory memory_;
  std::optional<std::uint64_t> seen_;
  std::uint64_t explained_ = 0;
};
}  // namespace moult
