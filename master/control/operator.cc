#include "master/control/operator.h"
namespace moult {
bool Operator::stopping() const {
  switch (parts_.mode()) {
    case Mode::serve:
    case Mode::sleep: return false;
    case Mode::delay:
    case Mode::draining:
    case Mode::last:
    case Mode::quick:
    case Mode::finished: return true;
  }
  return true;
}

void Operator::stop(const std::string& asked_by) {
  parts_.say("stopping gracefully: asked by " + asked_by);
  parts_.stop();
}

void Operator::stop_quickly(const std::string& asked_by) {
  parts_.say("stopping quickly: asked by " + asked_by);
  parts_.stop_quickly();
}

Result<void> Operator::reload(const std::string& asked_by, std::function<void(const ReloadOutcome&)> finished) {
  if (stopping()) {
    refuse(asked_by, "no reload: moult is stopping");
    return Error{"no reload: moult is stopping"};
  }
  if (const auto room = parts_.room_for_a_reload(); !room) {
    refuse(asked_by, room.error().message);
    return room.error();
  }
  parts_.say("reloading: asked by " + asked_by);
  parts_.reload(std::move(finished));
  return {};
}

Result<unsigned> Operator::scale(const std::string& asked_by, unsigned workers) {
  std::string why;
  if (stopping()) why = "the number of workers stays: moult is stopping";
  else if (workers < fewest_workers) why = "moult keeps at least 1 worker: to have none, use 'moult stop'";
  else if (workers > most_workers)
    why = std::to_string(workers) + " workers are too many: moult runs at most " + std::to_string(most_workers);
  else if (const auto affordable = parts_.affordable(workers); !affordable) why = affordable.error().message;
  if (!why.empty()) {
    refuse(asked_by, why);
    return Error{why};
  }
  parts_.say("workers: " + std::to_string(parts_.wanted()) + " -> " + std::to_string(workers) + ": asked by " +
             asked_by);
  parts_.scale(workers);
  return workers;
}

Result<unsigned> Operator::one_more(const std::string& asked_by) { return scale(asked_by, parts_.wanted() + 1); }

Result<unsigned> Operator::one_less(const std::string& asked_by) {
  const unsigned wanted = parts_.wanted();
  return scale(asked_by, wanted > 0 ? wanted - 1 : 0);
}

Result<unsigned> Operator::recycle(const std::string& asked_by, std::optional<unsigned> slot) {
  auto asked = stopping() ? Error{"nobody is replaced: moult is stopping"} : parts_.recycle(slot);
  if (!asked) {
    refuse(asked_by, asked.error().message);
    return asked;
  }
  parts_.say((slot ? "worker " + std::to_string(*slot) + " is" : "all workers are") + " to be replaced: asked by " +
             asked_by);
  return asked;
}

Result<void> Operator::run_call(const std::string& asked_by, const std::string& name,
                                std::function<void(Result<std::string>)> ended) {
  auto begun = stopping() ? Error{"no call is made: moult is stopping"} : parts_.run_call(name, std::move(ended));
  if (!begun) refuse(asked_by, begun.error().message);
  else parts_.say("the scheduled call '" + name + "' is made: asked by " + asked_by);
  return begun;
}

void Operator::sleep(const std::string& asked_by, std::function<void(Result<void>)> told) {
  if (stopping()) {
    refuse(asked_by, "no sleep: moult is stopping");
    return told(Error{"no sleep: moult is stopping"});
  }
  parts_.say("the app is to sleep: asked by " + asked_by);
  parts_.sleep(std::move(told));
}

void Operator::wake(const std::string& asked_by, std::function<void(Result<void>)> told) {
  if (stopping()) {
    refuse(asked_by, "no wake: moult is stopping");
    return told(Error{"no wake: moult is stopping"});
  }
  parts_.say("the app is to wake: asked by " + asked_by);
  parts_.wake(std::move(told));
}

void Operator::reopen_logs(const std::string& asked_by) {
  parts_.reopen_logs();  // first, so that the line below is in the new file
  parts_.say("log files reopened: asked by " + asked_by);
  parts_.reopen_worker_logs();
}

void Operator::refuse(const std::string& asked_by, const std::string& why) { parts_.say(why + " (" + asked_by + ")"); }

std::string Operator::status() const { return parts_.status_document(); }

void Operator::events(const EventsCommand& asked, std::function<void(Result<std::string>)> told) const {
  parts_.events(asked, std::move(told));
}

void Operator::fleet(std::function<void(Result<std::string>)> told) const { parts_.fleet_document(std::move(told)); }
}  // namespace moult
