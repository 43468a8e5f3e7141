#include "lease/store_ledger.h"

#include <utility>

#include "base/machine.h"
namespace moult {
namespace {
MonotonicTime this_moment() { return MonotonicTime(std::chrono::nanoseconds(uv_hrtime())); }

constexpr int most_late_askings = 3;  // a store whose clock is another with each answer is not chased for long
}  // namespace

class StoreLedger::Call final : public RedisCall {
 public:
  Call(StoreLedger& ledger, Question question, Budget budget, Done done)
      : ledger_(ledger), question_(std::move(question)), budget_(budget), done_(std::move(done)) {
    send("EVALSHA", ledger_script().sha1);
  }

 private:
  void send(const char* command, const std::string& script) {
    const auto words = [this, command, &script](const StoreClock& clock) {
      clock_ = clock;
      written_at_ = this_moment();
      request_ = question_(clock);
      return ledger_call(command, script, ledger_.fleet_, request_, ledger_.settings(clock));
    };
    call_ = ledger_.connection_.call(words, budget_, IfLost::ask_again,
                                     [this](RedisAnswer answer) { answered(std::move(answer)); });
  }
  void answered(RedisAnswer answer) {
    if (auto* failure = std::get_if<RedisFailure>(&answer)) return finish(std::move(*failure));
    const RedisReply& reply = std::get<RedisReply>(answer);
    const auto* error = reply.as<RedisError>();
    if (error && error->code == "NOSCRIPT") return send("EVAL", ledger_script().text);
    auto read = read_ledger_reply(reply, request_);
    if (!read) {
      const std::string what = error ? ledger_.in_words(*error) : read.error().message;
      return finish(RedisFailure{ledger_.describe().store + ": " + what, true, error != nullptr});
    }
    const bool other_clock = check_clock(read->now);
    const auto* refused = std::get_if<Refused>(&read->answer);
    const bool late = refused && refused->why == Refusal::late && !std::holds_alternative<Renew>(request_);
    if (late && other_clock && ++late_askings_ < most_late_askings && !budget_.spent(monotonic_now(ledger_.loop_)))
      return send("EVALSHA", ledger_script().sha1);
    finish(*std::move(read));
  }
  // The store read its clock between our writing and our hearing. True: it is not the clock that we knew.
  bool check_clock(StoreTime told) {
    const MonotonicTime heard_at = this_moment();
    const auto earliest = StoreClock::told(told, heard_at).ahead, latest = StoreClock::told(told, written_at_).ahead;
    if (earliest <= clock_.ahead && clock_.ahead <= latest) return false;
    ledger_.connection_.heard_time(told);
    return true;
  }
  void finish(Answer answer) {
    const Done done = std::move(done_);
    done(std::move(answer));  // may destroy this
  }

  StoreLedger& ledger_;
  Question question_;
  Budget budget_;
  Done done_;
  LedgerRequest request_ = Look{};
  StoreClock clock_;
  MonotonicTime written_at_{};
  int late_askings_ = 0;
  std::unique_ptr<RedisCall> call_;
};

// Of an error that is the caller's: it is about the script and its keys.
std::string StoreLedger::in_words(const RedisError& error) const {
  if (error.code != "WRONGTYPE") return "the store refused: " + error.message;
  const std::string key = ledger_keys(fleet_).front();
  return "what lies there under " + key.substr(0, key.rfind(':') + 1) +
         "* is no fleet's ledger (WRONGTYPE); say another --fleet-name or database, or delete those keys";
}

StoreLedger::StoreLedger(uv_loop_t* loop, RedisOptions options, std::string fleet, const FleetPolicy& policy,
                         std::string instance, std::function<void()> connected)
    : loop_(loop),
      fleet_(std::move(fleet)),
      instance_(std::move(instance)),
      policy_(policy),
      started_(monotonic_now(loop)),
      connection_(loop, std::move(options), std::move(connected)) {}

FleetSettings StoreLedger::settings(const StoreClock& clock) const { return {policy_, instance_, clock.at(started_)}; }

std::unique_ptr<RedisCall> StoreLedger::ask(Question question, Budget budget, Done done) {
  return std::make_unique<Call>(*this, std::move(question), budget, std::move(done));
}
}  // namespace moult
