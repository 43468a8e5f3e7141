#pragma once
// Has the instance too little memory left, and whose exit would help? Reads the instance's memory, remembers how
// earlier pressure recycles went, and hears from the kernel that tasks stall (PSI), where that may be armed. Used by
// MemoryWatch alone, on the loop's thread. The choice itself is recycler/victim.
#include <uv.h>

#include <functional>
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

class PressureWatch {
 public:
  // `stalled` is called from the loop when PSI fires. `say` gets one line for the log.
  PressureWatch(uv_loop_t*, const MinHeadroom&, std::function<void()> stalled,
                std::function<void(const std::string&)> say);
  PressureWatch(const PressureWatch&) = delete;
  PressureWatch& operator=(const PressureWatch&) = delete;

  // Reads again what is older than `at_most`. What cannot be read is said once; then there is no pressure.
  void look(Duration at_most, MonotonicTime now);
  std::uint64_t limit_bytes() const { return last_ ? last_->limit_bytes : no_limit; }
  std::uint64_t headroom_bytes() const { return last_ ? last_->headroom_bytes : no_limit; }
  std::uint64_t min_headroom_bytes() const;

  // `footprints` is called only under pressure, and not while an earlier answer holds: it costs milliseconds.
  std::optional<Pressure> judge(const std::function<std::vector<Footprint>()>& footprints,
                                std::uint64_t being_freed_bytes, RecyclePolicy, MonotonicTime now);

  // `others_bytes`: what the other workers hold of their own. What they took meanwhile is not the victim's fault.
  void recycle_begun(std::uint64_t needs_bytes, std::uint64_t others_bytes);
  // The victim is gone. A moment: it was futile once too often, and pressure recycles stop until then.
  std::optional<MonotonicTime> victim_gone(std::uint64_t others_bytes, MonotonicTime now);

 private:
  struct InHand {
    std::uint64_t needs_bytes, headroom_bytes, others_bytes;
  };
  void arm(uv_loop_t*);

  InstanceMemory memory_;
  MinHeadroom min_headroom_;
  std::function<void()> stalled_;
  std::function<void(const std::string&)> say_;
  std::optional<MemoryLook> last_;
  MonotonicTime looked_at_{};
  bool said_unreadable_ = false;
  std::optional<Pressure> held_;  // the last answer, while it holds
  PressureHistory history_;
  std::optional<InHand> in_hand_;
  UniqueFd psi_;
  UvHandle<uv_poll_t> poll_;
};
}  // namespace moult
