#include "master/report/event_stream.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/machine.h"
#include "master/control/event_words.h"
namespace moult {
using nlohmann::json;

EventStream::EventStream(uv_loop_t* loop, std::string instance, EventLog* log)
    : loop_(loop), instance_(std::move(instance)), log_(log), timer_(make_timer(loop, this)) {
  uv_unref(reinterpret_cast<uv_handle_t*>(timer_.get()));  // who waits for news alone keeps no loop alive
}

void EventStream::write(const Event& event, WallTime at) {
  std::string line = event_line(event, instance_, at);
  if (log_) log_->write_line(line);
  line.pop_back();  // its newline
  if (std::holds_alternative<WorkerRecycled>(event)) remember(line);
  keep(std::move(line));
  if (waiters_.empty()) return;
  news_ = true;
  if (std::holds_alternative<MasterStopped>(event)) tell_waiters();  // the loop ends before any timer
  else arm();
}

void EventStream::keep(std::string line) {
  kept_bytes_ += line.size();
  kept_.push_back(std::move(line));
  ++last_;
  while (kept_.size() > kept_events_most || (kept_bytes_ > kept_event_bytes_most && kept_.size() > 1)) {
    kept_bytes_ -= kept_.front().size();
    kept_.pop_front();
  }
}

void EventStream::remember(const std::string& line) {
  const json event = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (event.is_discarded()) return;
  const auto slot = event.find("slot");
  recent_ = with_newest(
      recent_,
      {.at = event.value("at", ""),
       .slot = slot != event.end() && slot->is_number_unsigned() ? std::optional(slot->get<unsigned>()) : std::nullopt,
       .reason = event.value("reason", ""),
       .sentence = event_sentence(event)});
}

std::string EventStream::document(std::uint64_t after) const {
  const std::uint64_t before_first = last_ - kept_.size();
  const std::uint64_t missed = after > 0 && after < before_first ? before_first - after : 0;
  std::uint64_t told = std::min(std::max(after, before_first), last_);
  std::string lines;
  while (told < last_) {
    const std::string& line = kept_[told - before_first];
    if (!lines.empty() && lines.size() + line.size() > told_event_bytes_most) break;
    if (!lines.empty()) lines += ',';
    lines += line;
    ++told;
  }
  return R"({"events":[)" + lines + R"(],"last":)" + std::to_string(told) + R"(,"missed":)" + std::to_string(missed) +
         "}";
}

void EventStream::ask(const EventsAsked& asked, std::function<void(Result<std::string>)> told) {
  if (!asked.wait || asked.after < last_) return told(document(asked.after));
  if (waiters_.size() >= most_event_waiters) return told(Error{"too many wait for events: try again"});
  waiters_.push_back({asked.after, monotonic_now(loop_) + longest_event_wait, std::move(told)});
  arm();
}

void EventStream::tell_waiters() {
  const MonotonicTime now = monotonic_now(loop_);
  std::deque<Waiter> due;
  while (!waiters_.empty() && (news_ || waiters_.front().until <= now)) {
    due.push_back(std::move(waiters_.front()));
    waiters_.pop_front();
  }
  news_ = false;
  for (const Waiter& each : due) each.told(document(each.after));
  if (!waiters_.empty()) arm();
}

void EventStream::arm() {
  if (news_ && uv_is_active(reinterpret_cast<uv_handle_t*>(timer_.get())) &&
      uv_timer_get_due_in(timer_.get()) <=
          static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(events_settle).count()))
    return;  // the first of a burst decides when it is told
  const Duration wait = news_ ? events_settle : waiters_.front().until - monotonic_now(loop_);
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::max(wait, Duration::zero())).count();
  uv_timer_start(
      timer_.get(), [](uv_timer_t* timer) { static_cast<EventStream*>(timer->data)->tell_waiters(); },
      static_cast<std::uint64_t>(ms), 0);
}
}  // namespace moult
