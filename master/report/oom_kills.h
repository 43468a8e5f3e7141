#pragma once
// Was it the kernel's OOM killer? How many processes of our cgroup it has killed so far, and whether that has risen.
// Read from memory.events (v2) or memory.oom_control (v1) of our cgroup; at the root of v2, which has none, from
// /proc/vmstat, which counts for the whole machine. Owned by Instance, called on the loop's thread: one small read.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "master/pool/exit.h"
#include "master/pool/worker_state.h"
namespace moult {
// Pure. The number after "oom_kill " at the beginning of a line; none: there is no such line.
std::optional<std::uint64_t> parse_oom_kills(std::string_view text);
// Pure. Where to look for it, best first, for what /proc/self/cgroup says.
struct OomKillPlaces {
  std::string first, second;
};
OomKillPlaces oom_kill_places(std::string_view proc_self_cgroup, const std::string& cgroup_root);

class OomKills {
 public:
  // `root` is "/" but in tests.
  explicit OomKills(const std::string& root = "/");

  // A moment when nobody has just died: deaths before it explain no later one.
  void look();
  // True: killed by a SIGKILL that we did not send, and the count had risen since we last looked; one rise explains one
  // death. None: the count cannot be read here.
  std::optional<bool> killed(WorkerState state_before, const Exit&);

 private:
  std::optional<std::uint64_t> read() const;
  std::string path_;  // empty: nothing to be read
  std::optional<std::uint64_t> seen_;
};
}  // namespace moult
