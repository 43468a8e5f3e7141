#pragma once
// The one place where wishes enter: whatever a signal, a person or the control socket wants of this instance passes
// here, is checked once, is said once in the log with who asked, and goes on to whom it concerns. Decides nothing about
// workers: that is the pool's.
// Called by Signals and ControlServer, on the loop's thread. Owned by Instance.
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/worker_limits.h"
#include "master/control/command.h"
#include "master/pool/supervisor.h"
namespace moult {
// Where the wishes go. supervisor_parts() (supervisor_parts.h) fills the pool's half, Instance the rest. None may be
// empty.
struct OperatorParts {
  std::function<void()> stop, stop_quickly;
  std::function<void(unsigned workers)> scale;
  std::function<void(std::function<void(const ReloadOutcome&)> finished)> reload;
  std::function<Result<unsigned>(std::optional<unsigned> slot)> recycle;  // none: all
  std::function<Result<void>()> room_for_a_reload;
  std::function<void(std::function<void(Result<void>)> told)> sleep, wake;
  std::function<unsigned()> wanted;
  std::function<Result<void>(unsigned workers)> affordable;  // could any of so many be replaced, as --min-healthy is?
  std::function<Mode()> mode;
  std::function<void()> reopen_worker_logs;  // tells the workers
  std::function<void()> reopen_logs;         // our own
  std::function<std::string()> status_document;
  std::function<void(std::function<void(Result<std::string>)> told)> fleet_document;
  std::function<void(const EventsCommand&, std::function<void(Result<std::string>)> told)> events;
  // A scheduled call, now: how it ended, as JSON. `ended` is called once, later; not at all when it is refused.
  std::function<Result<void>(const std::string& name, std::function<void(Result<std::string>)> ended)> run_call;
  std::function<void(const std::string& line)> say;  // to the log, for people
};

// Each `asked_by` is for the log: "SIGHUP", "the control socket (uid 0, pid 812)".
class Operator {
 public:
  explicit Operator(OperatorParts parts) : parts_(std::move(parts)) {}
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  void stop(const std::string& asked_by);  // graceful; again, or after a quick one: no effect
  void stop_quickly(const std::string& asked_by);

  // `finished` is called once, later, never from inside this call; not at all when this is refused.
  Result<void> reload(const std::string& asked_by, std::function<void(const ReloadOutcome&)> finished);

  // The number that is wanted from now on.
  Result<unsigned> scale(const std::string& asked_by, unsigned workers);
  Result<unsigned> one_more(const std::string& asked_by);
  Result<unsigned> one_less(const std::string& asked_by);

  // The worker of this slot, or all: each goes when the cooldown and the budget let it. How many were asked to.
  Result<unsigned> recycle(const std::string& asked_by, std::optional<unsigned> slot);

  // The scheduled call of that name, beside its due times. `ended` as OperatorParts::run_call has it.
  Result<void> run_call(const std::string& asked_by, const std::string& name,
                        std::function<void(Result<std::string>)> ended);

  // Puts the app to sleep, wakes it. `told` is called once, from inside or later: nothing, or why it did not come to
  // that.
  void sleep(const std::string& asked_by, std::function<void(Result<void>)> told);
  void wake(const std::string& asked_by, std::function<void(Result<void>)> told);

  void reopen_logs(const std::string& asked_by);
  void refuse(const std::string& asked_by, const std::string& why);  // only says so
  std::string status() const;                                        // JSON, DESIGN "Status"
  // The fleet's ledger as JSON. `told` is called once, later, within a few seconds.
  void fleet(std::function<void(Result<std::string>)> told) const;
  // What has happened, as JSON: {"events":[...],"last":N,"missed":K}. `told` is called once, from inside or later.
  void events(const EventsCommand&, std::function<void(Result<std::string>)> told) const;

 private:
  bool stopping() const;

  OperatorParts parts_;
};
}  // namespace moult
