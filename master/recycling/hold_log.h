#pragma once
// Who is held back, by what and since when: from the level that decide() and the pool say again and again to the
// moments in which it changed. Pure. Used by MemoryWatch, which asks after each step of the pool.
#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "master/pool/held_back.h"
namespace moult {
// How long one worker was held back for one reason, all times together.
struct HeldFor {
  HoldReason why;
  Duration lasted{};
};
struct HoldChange {
  WorkerId worker;
  HoldReason why;
  std::optional<HeldBack> begun;  // none: it has ended
  Evidence evidence;              // of one that has begun
  Duration lasted{};              // of one that has ended
};

class HoldLog {
 public:
  // What has changed since it was asked last. The ends come first.
  std::vector<HoldChange> update(const Pool&, MonotonicTime now);
  std::optional<HeldBack> holding(WorkerId) const;
  // It is gone: the hold that was on, if one was.
  std::optional<HeldFor> end(WorkerId, MonotonicTime now);
  // All that held it back so far, the hold that is on too. It is kept until the worker is gone: a turn that begins now
  // may be abandoned, and the one that ends it has the same to tell, and more.
  std::vector<HeldFor> so_far(WorkerId, MonotonicTime now) const;

 private:
  struct Holding {
    HeldBack now;
    MonotonicTime since;
  };
  std::map<WorkerId, Holding> holding_;
  std::map<WorkerId, std::vector<HeldFor>> past_;  // one entry a reason
};
}  // namespace moult
