#include "master/launch/hook_run.h"

#include <csignal>
#include <utility>

#include "master/launch/spawn.h"
namespace moult {
namespace {
std::uint64_t milliseconds(Duration duration) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}
}  // namespace

HookRun::HookRun(uv_loop_t* loop, Orphans& orphans, const HookOptions& options, const std::string& event, Ended ended)
    : options_(options), ended_(std::move(ended)), timer_(make_timer(loop, this)) {
  start(loop, orphans, event);
  uv_timer_start(
      timer_.get(), [](uv_timer_t* t) { static_cast<HookRun*>(t->data)->at_the_timer(); },
      could_not_start_ ? 0 : milliseconds(options_.runs_at_most), 0);
}

void HookRun::start(uv_loop_t* loop, Orphans& orphans, const std::string& event) {
  SpawnRequest request = spawn_request(options_.child);
  request.command = {"/bin/sh", "-c", *options_.command};
  request.environment.push_back("MOULT_EVENT=" + event.substr(0, event.find('\n')));
  auto outcome = spawn(request);
  if (const auto* failed = std::get_if<Exit>(&outcome)) return fail(describe(*failed));
  auto& spawned = std::get<Spawned>(outcome);
  auto owned = ChildProcess::own(loop, orphans, spawned.pid, std::move(spawned.pidfd),
                                 {.dying = {}, .exited = [this](const Exit& exit) { this->ended(exit); }});
  if (!owned) return fail(owned.error().message);
  process_ = *std::move(owned);
}

void HookRun::fail(const std::string& why) { could_not_start_ = options_.flag + ": " + why; }

void HookRun::at_the_timer() {
  if (could_not_start_) return tell(Error{*could_not_start_});
  options_.trouble(options_.flag + " is killed: it takes too long");
  process_->signal(SIGKILL);
}

void HookRun::ended(const Exit& exit) {
  if (exit.status == 0) return tell({});
  tell(Error{options_.flag + " failed: " + describe(exit)});
}

void HookRun::tell(Result<void> outcome) {
  const Ended call = std::exchange(ended_, nullptr);
  call(outcome);  // we may be gone after it
}
}  // namespace moult
