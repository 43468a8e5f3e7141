#pragma once
// The last recycles, each as a sentence, for the status document and the page. Pure. Filled by EventStream on the
// loop's thread; what is handed out is never changed again, so that admin threads may read it.
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>
namespace moult {
inline constexpr std::size_t most_recent_recycles = 12;  // a choice: what a person looks at; all are in --events

struct RecentRecycle {
  std::string at;  // RFC 3339, when the worker was gone
  std::optional<unsigned> slot;
  std::string reason, sentence;
};
using RecentRecycles = std::vector<RecentRecycle>;  // the newest first

// The same with one more in front, and no more than most_recent_recycles.
inline std::shared_ptr<const RecentRecycles> with_newest(const std::shared_ptr<const RecentRecycles>& before,
                                                         RecentRecycle newest) {
  auto all = std::make_shared<RecentRecycles>();
  all->push_back(std::move(newest));
  if (before)
    for (const RecentRecycle& each : *before)
      if (all->size() < most_recent_recycles) all->push_back(each);
  return all;
}
}  // namespace moult
