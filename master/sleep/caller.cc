#include "master/sleep/caller.h"

#include <absl/time/time.h>

#include <algorithm>
#include <utility>

#include "master/sleep/curl_library.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

// As events write it.
std::string rfc3339(WallTime at) {
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(at);
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(milliseconds.time_since_epoch().count()),
                          absl::UTCTimeZone());
}

Clocks clocks_of(uv_loop_t* loop) {
  Clocks now{};
  read_clock(loop, now);
  return now;
}

// The loop's own time stands still while it works: too coarse for calls of a millisecond.
MonotonicTime this_moment() { return MonotonicTime(std::chrono::nanoseconds(uv_hrtime())); }

std::vector<HoldsAwake> judged(const CallerOptions& options, Clocks now) {
  if (!options.idle) return {};
  return holds_awake(options.policy, *options.idle, now);
}
}  // namespace

Duration claim_kept(const When& when, WallTime due) {
  constexpr Duration at_least = 1h, at_most = 7 * 24h;
  const auto next = next_after(when, due);
  return next ? std::clamp<Duration>(1000 * std::min<Duration>(*next - due, at_most), at_least, at_most) : at_most;
}

Caller::Caller(uv_loop_t* loop, CallerOptions options, CallerParts parts)
    : loop_(loop),
      options_(std::move(options)),
      parts_(std::move(parts)),
      holds_awake_(judged(options_, clocks_of(loop))),
      look_timer_(loop, [this] { claims_->look(); }),
      schedule_(loop, begin(options_.policy, clocks_of(loop)), options_.policy,
                [this](const ScheduleAction& action) { std::visit([this](const auto& a) { perform(a); }, action); }) {}

void Caller::start() {
  schedule_.post(TimePassed{});
  if (claims_) claims_->look();  // also for what we ourselves left behind
}

MonotonicTime Caller::next_call_due() const { return moult::next_call_due(schedule_.state(), clocks_of(loop_)); }

bool Caller::call_waits() const {
  return std::ranges::any_of(in_hand_, [](const auto& each) { return each.second.delivery != nullptr; });
}

const ScheduledCall& Caller::entry(const std::string& name) const {
  return *std::ranges::find(options_.policy.calls, name, &ScheduledCall::name);
}
const Call* Caller::call(const std::string& name) const {
  const auto found = std::ranges::find(schedule_.state().calls, name, &Call::name);
  return found == schedule_.state().calls.end() ? nullptr : &*found;
}

Result<void> Caller::run(const std::string& name, std::function<void(const EndedCall&)> ended) {
  const Call* known = call(name);
  if (!known) return Error{"no scheduled call is named '" + name.substr(0, 64) + "': see moult schedule ls"};
  if (stopping_) return Error{"no call is made: moult is stopping"};
  const Error busy{"'" + name + "' is being called already: see moult schedule ls"};
  if (known->state != CallState::waiting) return busy;
  schedule_.post(RunNow{name});
  const auto begun = in_hand_.find(name);
  if (begun == in_hand_.end() || !begun->second.by_hand) return busy;  // it fell due in this very moment
  begun->second.run_by = std::move(ended);
  return {};
}

// A call that was claimed has its budget already.
Caller::InHand& Caller::take(const std::string& name, WallTime due) {
  const auto [place, is_new] = in_hand_.try_emplace(name);
  InHand& taken = place->second;
  if (!is_new) return taken;
  taken.due = due;
  taken.begun = this_moment();
  taken.late = std::max(Duration(clocks_of(loop_).wall - due), Duration::zero());
  taken.budget = {now() + entry(name).timeout};
  taken.by_hand = call(name)->by_hand;
  return taken;
}

void Caller::perform(const Claim& action) {
  if (stopping_ || !claims_) return schedule_.post(Claimed{action.name, false});
  InHand& taken = take(action.name, action.due);
  taken.claim = {action.name, action.due, claims_->next_token()};
  taken.asking =
      claims_->claim(*taken.claim, claim_kept(entry(action.name).when, action.due), taken.budget,
                     [this, name = action.name](const Result<ClaimAnswer>& answer) { claimed(name, answer); });
}

void Caller::claimed(const std::string& name, const Result<ClaimAnswer>& answer) {
  if (!answer) {
    in_hand_.at(name).claim.reset();  // it may have been taken: then it is reported lost
    return end(name, Claimed{name, false}, {CallOutcome::store_unreachable, std::nullopt, answer.error().message});
  }
  if (*answer == ClaimAnswer::ours) return schedule_.post(Claimed{name, true});
  look_later();
  in_hand_.at(name).claim.reset();
  end(name, Claimed{name, false}, {CallOutcome::claimed_elsewhere, std::nullopt, ""});
}

void Caller::perform(const Deliver& action) {
  const ScheduledCall& of = entry(action.name);
  InHand& taken = take(action.name, action.due);
  if (stopping_) return end(action.name, Undelivered{action.name}, {CallOutcome::stopped, std::nullopt, ""});
  taken.delivery = std::make_unique<CallDelivery>(
      loop_, CallRequest{options_.door, of.method, of.path, of.name, rfc3339(action.due)}, taken.budget,
      parts_.somebody_serves, [this, name = action.name](const DeliveryEnd& how) { delivered(name, how); });
  if (parts_.somebody_serves()) return;
  taken.told_due = true;
  on_call_due();
}

void Caller::delivered(const std::string& name, const DeliveryEnd& how) {
  if (how.status) end(name, Answered{name, *how.status}, how);
  else end(name, Undelivered{name}, how);
}

void Caller::end(const std::string& name, const ScheduleEvent& event, DeliveryEnd how) {
  InHand over = std::move(in_hand_.extract(name).mapped());
  if (over.claim) claims_->finish(*over.claim, moult::name(how.outcome));
  const bool was_ours = how.outcome != CallOutcome::claimed_elsewhere;
  const EndedCall ended{.name = name,
                        .due = over.due,
                        .outcome = how.outcome,
                        .status = how.status,
                        .took = was_ours ? this_moment() - over.begun : Duration{},
                        .by_hand = over.by_hand,
                        .why = how.why,
                        .late = over.late};
  last_.insert_or_assign(name, ended);
  tell(ended);
  schedule_.post(event);  // which may begin the next one
  if (over.run_by) over.run_by(ended);
  const bool waits = std::ranges::any_of(in_hand_, [](const auto& each) { return each.second.told_due; });
  if (over.told_due && !waits) on_no_call_waits();
}

void Caller::tell(const EndedCall& ended) {
  ++outcomes_[static_cast<std::size_t>(ended.outcome)];
  if (ended.status.value_or(0) >= least_error_status) ++errors_;
  parts_.told(ended);
}

void Caller::lost(const LostCall& call) {
  tell({.name = call.name, .due = call.due, .outcome = CallOutcome::lost, .holder = call.holder});
}

// Another has it. Should it end before its call does, that is to be seen soon, and not with the next due time.
void Caller::look_later() {
  Duration longest{};
  for (const ScheduledCall& each : options_.policy.calls) longest = std::max(longest, each.timeout);
  look_timer_.at_end_of({now() + longest + claim_grace + 1s});
}

void Caller::worker_serving(const Worker&, pid_t) {
  for (auto& [name, each] : in_hand_)
    if (each.delivery) each.delivery->look_again();
}

void Caller::stopping() {
  stopping_ = true;
  std::vector<std::string> not_sent;
  for (const auto& [name, each] : in_hand_)
    if (!each.delivery || !each.delivery->is_sent()) not_sent.push_back(name);
  for (const std::string& name : not_sent) {
    const bool is_claiming = call(name)->state == CallState::claiming;
    end(name, is_claiming ? ScheduleEvent(Claimed{name, false}) : ScheduleEvent(Undelivered{name}),
        {CallOutcome::stopped, std::nullopt, ""});
  }
}

void Caller::stop_finished(int) {
  stopping();
  while (!in_hand_.empty()) {
    const std::string name = in_hand_.begin()->first;
    end(name, Undelivered{name}, {CallOutcome::cut_off, std::nullopt, "moult has stopped"});
  }
}

void Caller::leave(Budget budget, std::function<void()> gone) {
  look_timer_.stop();
  if (claims_) claims_->when_written(budget, std::move(gone));
  else gone();
}

ScheduleDescription Caller::describe() const {
  ScheduleDescription all{.outcomes = outcomes_, .errors = errors_};
  for (std::size_t i = 0; i < options_.policy.calls.size(); ++i) {
    const ScheduledCall& of = options_.policy.calls[i];
    const Call& is = schedule_.state().calls[i];
    ScheduledCallDescription each{of.name,    of.as_written, of.method,    of.path,       of.scope,
                                  of.timeout, is.state,      std::nullopt, is.last_status};
    if (is.next_at != WallTime::max()) each.next_at = is.next_at;
    if (const auto last = last_.find(of.name); last != last_.end()) each.last = last->second;
    if (!holds_awake_.empty()) {
      each.holds_awake = holds_awake_[i].always;
      each.holds_awake_words = holds_awake_[i].words;
    }
    all.calls.push_back(std::move(each));
  }
  return all;
}

std::vector<std::string> Caller::warnings() const {
  std::vector<std::string> lines;
  if (options_.policy.calls.empty()) return lines;
  if (const auto opened = open_curl(); !opened) lines.push_back(opened.error().message);
  for (const HoldsAwake& each : holds_awake_)
    if (each.always) lines.push_back("schedule: does '" + each.name + "' hold the app awake? " + each.words);
  return lines;
}
}  // namespace moult
