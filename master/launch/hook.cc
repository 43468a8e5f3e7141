#include "master/launch/hook.h"

#include <utility>
namespace moult {
Hook::Hook(uv_loop_t* loop, Orphans& orphans, HookOptions options)
    : loop_(loop), orphans_(orphans), options_(std::move(options)) {}

void Hook::run(const std::string& event) {
  if (!options_.command) return;
  if (running_) next_ = event;
  else start(event);
}

void Hook::start(const std::string& event) {
  running_ = std::make_unique<HookRun>(loop_, orphans_, options_, event, [this](const Result<void>& ended) {
    running_.reset();
    if (!ended) options_.trouble(ended.error().message);
    if (const auto next = std::exchange(next_, std::nullopt)) start(*next);
  });
}
}  // namespace moult
