#pragma once
// When is a reload over? Told what the pool's observers hear, it says. Pure.
//
// A reload is any load after the first code was proven, whoever wished it: a person, a signal, or the death of a fork
// server (DESIGN §10). It is over when its generation is proven and no worker of older code serves any more
// ("succeeded"), or, where the app sleeps, when it is loaded; when it is rejected ("rejected", with the cause), when
// another load begins before ("superseded"), or when moult ends first ("stopped").
#include <map>
#include <optional>
#include <string>

#include "base/ids.h"
namespace moult {
struct ReloadEnd {
  Generation generation;
  std::string outcome;
  std::string error;  // empty but for "rejected"
};

class ReloadProgress {
 public:
  // True: a reload has begun.
  bool load_started(Generation);

  void serving(WorkerId id, Generation generation) { serving_[id] = generation; }
  void no_longer_serving(WorkerId id) { serving_.erase(id); }
  void proven(Generation);
  void loaded_asleep(Generation);
  void rejected(Generation, const std::string& cause);  // or lost before it served
  void stopped() { end("stopped", ""); }

  // Asked after each of the above: the reload that has just ended, once.
  std::optional<ReloadEnd> take_end();

 private:
  void end(const std::string& outcome, const std::string& error);
  std::map<WorkerId, Generation> serving_;
  Generation proven_;
  std::optional<Generation> reloading_;
  std::optional<ReloadEnd> ended_;
};
}  // namespace moult
