#include "master/report/sleep_reporter.h"

#include <utility>

#include "master/report/seconds.h"
namespace moult {
namespace {
Clocks real_clocks() { return {std::chrono::steady_clock::now(), std::chrono::system_clock::now()}; }

std::string after(const std::string& cause) { return (cause.find('\n') == cause.npos ? ": " : ":\n") + cause; }

const char* because(SleepReason why) {
  switch (why) {
    case SleepReason::idle: return "nobody called";
    case SleepReason::operator_wish: return "asked for";
    case SleepReason::failed_wake: break;
  }
  return "it could not be woken";
}

const char* for_whom(Waker waker) {
  switch (waker) {
    case Waker::caller: return "a visitor";
    case Waker::call: return "a scheduled call";
    case Waker::app_due: return "the app's own schedule";
    case Waker::operator_wish: break;
  }
  return "an operator";
}
}  // namespace

SleepReporter::SleepReporter(SleepReporterParts parts) : parts_(std::move(parts)) {
  if (!parts_.clocks) parts_.clocks = real_clocks;
}

void SleepReporter::tell(const Event& event) {
  if (parts_.events) parts_.events->write(event, parts_.clocks().wall);
}

void SleepReporter::slept(const FellAsleep& sleep) {
  parts_.log.info(std::string("the app sleeps: ") + because(sleep.why) + ". It was awake for " +
                  seconds_text(sleep.awake_for));
  tell(sleep);
}

void SleepReporter::woke(const WokeUp& wake) {
  parts_.log.info(std::string("the app is awake for ") + for_whom(wake.caller) + ", after " +
                  seconds_text(wake.latency));
  tell(wake);
  if (parts_.on_wake) parts_.on_wake(event_line(wake, parts_.instance, parts_.clocks().wall));
}

void SleepReporter::wake_failed(const FailedWake& failed) {
  parts_.log.warning("the app could not be woken; callers get 503 for " + seconds_left_text(failed.retry_in) +
                     after(failed.cause));
  tell(failed);
}

void SleepReporter::stop_failed(const FailedStop& failed) {
  parts_.log.warning("the app stays awake; the next attempt to sleep is in " + seconds_left_text(failed.retry_in) +
                     after(failed.cause));
  tell(failed);
}

void SleepReporter::idle_state_changed(IdleState state) {
  switch (state) {
    case IdleState::active: parts_.service_manager.status("serving"); break;
    case IdleState::asleep: parts_.service_manager.status("asleep: the next caller wakes the app"); break;
    case IdleState::stopping:
    case IdleState::waking: break;
  }
  parts_.changed();
}
}  // namespace moult
