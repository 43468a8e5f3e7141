#include "worker/request_counter.h"
namespace moult {
namespace {
using Caller = WorkerContext::Caller;
}

WorkerContext::Request RequestCounter::started(Caller caller, std::uint64_t now_ns) {
  if (caller == Caller::sidecar) return ++last_;  // and nobody knows of it any more
  const bool visitor = caller == Caller::visitor;
  (visitor ? plain_ : exempt_).emplace_hint((visitor ? plain_ : exempt_).end(), ++last_, InFlight{caller, now_ns});
  if (caller == Caller::ignored) return last_;
  add_one(visitor ? ScoreboardField::requests_started : ScoreboardField::calls_started);
  if (visitor) scoreboard_.write(ScoreboardField::last_visitor_activity_ns, now_ns);
  if (visitor && plain_.size() == 1) show_oldest();
  return last_;
}

void RequestCounter::is_long(WorkerContext::Request request) {
  exempt_.insert(plain_.extract(request));
  show_oldest();
}

void RequestCounter::finished(WorkerContext::Request request, int http_status, std::uint64_t now_ns) {
  auto ended = plain_.extract(request);
  if (ended.empty()) ended = exempt_.extract(request);
  if (ended.empty()) return;
  const Caller caller = ended.mapped().caller;
  if (caller == Caller::visitor) scoreboard_.write(ScoreboardField::last_visitor_activity_ns, now_ns);
  if (http_status >= 500) add_one(ScoreboardField::responses_5xx);
  if (caller == Caller::ignored) add_one(ScoreboardField::requests_started);
  add_one(caller == Caller::schedule ? ScoreboardField::calls_finished : ScoreboardField::requests_finished);
  show_oldest();
}

void RequestCounter::add_one(ScoreboardField field) { scoreboard_.write(field, scoreboard_.read(field) + 1); }

void RequestCounter::show_oldest() {
  scoreboard_.write(ScoreboardField::oldest_plain_request_ns, plain_.empty() ? 0 : plain_.begin()->second.began_ns);
}
}  // namespace moult
