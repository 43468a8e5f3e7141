#pragma once
// Has the instance too little memory left, and whose exit would help? Reads the instance's memory, remembers how
// earlier pressure recycles went, and hears from the kernel that tasks stall (PSI), where that may be armed. Used by
// MemoryWatch alone, on the loop's thread. The choice itself is recycler/victim.
#include <uv.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/uv_handle.h"
#include "recycler/instance_memory.h"
#include "recycler/reading.h"
namespace moult {
struct MinHeadroom {  // --min-headroom
  std::uint64_t bytes = 0;
  double percent = 0;  // of the instance's limit; not zero: `bytes` says nothing
};

inline constexpr Duration of_use_after = std::chrono::minutes(1);  // without pressure: a recycle was of use

class PressureWatch {
 public:
  struct Calls {
    std::function<void()> stalled;                // from the loop, when PSI fires
    std::function<void(Duration)> futile;         // pressure recycles help nobody, and stop for so long
    std::function<void(const std::string&)> say;  // one line for the log
  };
  PressureWatch(uv_loop_t*, const MinHeadroom&, Calls);
  PressureWatch(const PressureWatch&) = delete;
  PressureWatch& operator=(const PressureWatch&) = delete;

  // Reads again what is older than `at_most`. What cannot be read is said once; then there is no pressure.
  void look(Duration at_most, MonotonicTime now);
  // When to look again: by how fast the headroom falls, as for a worker near its limit.
  MonotonicTime next_look(const RecyclePolicy&) const;
  std::uint64_t limit_bytes() const { return limit_bytes_; }  // as last read
  std::uint64_t headroom_bytes() const { return last_ ? last_->headroom_bytes : no_limit; }
  std::uint64_t min_headroom_bytes() const;
  std::uint64_t times_short() const { return times_short_; }  // how often the headroom fell below that, by our looks

  bool is_on(RecyclePolicy, std::uint64_t being_freed_bytes) const;  // as of the last look

  // The functions are called when they are needed: `own_bytes` is what all workers hold of their own.
  struct Workers {
    std::function<std::vector<Footprint>()> footprints;
    std::function<std::uint64_t()> own_bytes;
    std::uint64_t being_freed_bytes;
  };
  std::optional<Pressure> judge(const Workers&, RecyclePolicy, MonotonicTime now);

  // A pressure recycle, from its beginning (`own_bytes` without the victim's) to the victim's end. Whether it was of
  // use shows when there is pressure again, or none for a while: what our workers took meanwhile, as their RSS tells,
  // is not its fault; what somebody else took, or what a successor copied of the shared pages, is what makes it futile.
  void recycle_begun(WorkerId victim, std::uint64_t needs_bytes, std::uint64_t own_bytes,
                     std::uint64_t successor_bytes);
  void victim_gone(WorkerId, MonotonicTime now);
  void forget(WorkerId worker) { to_be_judged_.erase(worker); }  // gone, but for another reason

 private:
  struct PastRecycle {
    std::uint64_t needs_bytes;
    RecycleBefore before;
    std::optional<MonotonicTime> gone_at;
  };
  void arm(uv_loop_t*);
  void note_shortage();
  void judge_recycles(const Workers&, bool pressure, MonotonicTime now);

  InstanceMemory memory_;
  MinHeadroom min_headroom_;
  Calls calls_;
  std::optional<MemoryLook> last_;
  std::uint64_t limit_bytes_ = no_limit;
  MonotonicTime looked_at_{};
  bool is_short_ = false;
  std::uint64_t times_short_ = 0;
  double falls_bytes_per_second_ = 0;
  bool said_unreadable_ = false;
  PressureHistory history_;
  std::map<WorkerId, PastRecycle> to_be_judged_;  // by victim; one that drains may be followed by another
  UniqueFd psi_;
  std::optional<MonotonicTime> stalled_at_;
  UvHandle<uv_poll_t> poll_;
};
}  // namespace moult
