#include "master/launch/hook.h"

#include <csignal>
#include <utility>

#include "master/launch/spawn.h"
namespace moult {
namespace {
std::uint64_t milliseconds(Duration duration) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}
}  // namespace

Hook::Hook(uv_loop_t* loop, Orphans& orphans, HookOptions options)
    : loop_(loop), orphans_(orphans), options_(std::move(options)), timer_(make_timer(loop, this)) {}

void Hook::run(const std::string& event) {
  if (!options_.command) return;
  if (running_) next_ = event;
  else start(event);
}

void Hook::start(const std::string& event) {
  SpawnRequest request = spawn_request(options_.child);
  request.command = {"/bin/sh", "-c", *options_.command};
  request.environment.push_back("MOULT_EVENT=" + event.substr(0, event.find('\n')));
  auto outcome = spawn(request);
  if (const auto* failed = std::get_if<Exit>(&outcome))
    return options_.trouble(options_.flag + ": " + describe(*failed));
  auto& spawned = std::get<Spawned>(outcome);
  auto owned = ChildProcess::own(loop_, orphans_, spawned.pid, std::move(spawned.pidfd),
                                 {.dying = {}, .exited = [this](const Exit& exit) { ended(exit); }});
  if (!owned) return options_.trouble(options_.flag + ": " + owned.error().message);
  running_ = *std::move(owned);
  uv_timer_start(
      timer_.get(), [](uv_timer_t* t) { static_cast<Hook*>(t->data)->take_too_long(); },
      milliseconds(options_.runs_at_most), 0);
}

void Hook::take_too_long() {
  options_.trouble(options_.flag + " is killed: it takes too long");
  running_->signal(SIGKILL);
}

void Hook::ended(const Exit& exit) {
  uv_timer_stop(timer_.get());
  running_.reset();
  if (exit.status != 0) options_.trouble(options_.flag + " failed: " + describe(exit));
  if (const auto next = std::exchange(next_, std::nullopt)) start(*next);
}
}  // namespace moult
