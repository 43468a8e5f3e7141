#include "master/launch/notify_link.h"

#include <chrono>
#include <csignal>
#include <utility>

#include "base/machine.h"
namespace moult {
NotifyLink::NotifyLink(uv_loop_t* loop, Orphans& orphans, NotifyLinkHome& home, WorkerId id, LinkEvents events)
    : loop_(loop),
      orphans_(orphans),
      home_(home),
      id_(id),
      events_(std::move(events)),
      later_(loop),
      ready_timer_(make_timer(loop, this)) {}

NotifyLink::~NotifyLink() { home_.forget(id_); }

Result<void> NotifyLink::attach(pid_t pid, UniqueFd pidfd, WorkerOutput output, Duration ready_delay) {
  output_ = std::move(output);
  auto process = ChildProcess::own(
      loop_, orphans_, pid, std::move(pidfd),
      {.dying = [this] { home_.read_notify_socket(); }, .exited = [this](const Exit& exit) { exited(exit); }});
  if (!process) return process.error();
  process_ = std::move(*process);
  pid_ = pid;
  later_.run([this] {
    if (events_.started) events_.started(id_, pid_);
  });
  const auto delay = std::chrono::ceil<std::chrono::milliseconds>(ready_delay).count();
  uv_timer_start(
      ready_timer_.get(), [](uv_timer_t* timer) { static_cast<NotifyLink*>(timer->data)->be_ready(); },
      static_cast<std::uint64_t>(delay), 0);
  return {};
}

void NotifyLink::fail(Exit exit) { finish(std::move(exit)); }

void NotifyLink::heard(const Message& message) {
  if (finished_) return;
  if (!ready_said_ && (message.has("READY") || message.has("STATUS"))) uv_timer_stop(ready_timer_.get());
  if (const auto error = message.find("ERROR")) error_ = unescape(*error);
  if (message.has("WATCHDOG")) watchdog_at_ = monotonic_now(loop_);
  if (message.has("STOPPING") && events_.stopping) events_.stopping(id_);
  if (const auto status = message.find("STATUS"); status && events_.status) events_.status(id_, std::string(*status));
  if (message.find("READY") == "1") be_ready();
}

void NotifyLink::be_ready() {
  if (finished_ || std::exchange(ready_said_, true)) return;
  if (events_.ready) events_.ready(id_, Drain::own);
}

void NotifyLink::retire(MonotonicTime, Adopters) { signal(SIGTERM); }

void NotifyLink::signal(int signal_number) {
  if (process_) process_->signal(signal_number);
}

void NotifyLink::exited(Exit exit) {
  exit.cause = error_;
  if (exit.status == 0 && !ready_said_)
    exit.cause = "exited with status 0 before it was ready: run it in the foreground";
  finish(std::move(exit));
}

void NotifyLink::finish(Exit exit) {
  if (std::exchange(finished_, true)) return;
  uv_timer_stop(ready_timer_.get());
  later_.run([this, exit = std::move(exit)] {
    output_ = {};                    // what it wrote last is read here
    const auto gone = events_.gone;  // a copy: it may destroy us
    gone(id_, exit);
  });
}
}  // namespace moult
