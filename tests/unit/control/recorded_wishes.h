#pragma once
// A real Operator whose parts write down what was asked of them, and let a test say when a reload has ended.
#include <functional>
#include <string>
#include <vector>

#include "master/control/operator.h"
namespace moult::test {
struct RecordedWishes {
  std::vector<std::string> asked, said;
  std::vector<std::function<void(const ReloadOutcome&)>> reloads;  // those in hand
  std::vector<std::function<void(Result<std::string>)>> calls;     // likewise
  unsigned wanted = 3;
  Mode mode = Mode::serve;
  Result<void> room, affordable;
  std::string status = R"({"name":"web","wanted":3})";

  OperatorParts parts() {
    OperatorParts parts;
    parts.stop = [this] { asked.push_back("stop"), mode = Mode::draining; };
    parts.stop_quickly = [this] { asked.push_back("stop quickly"), mode = Mode::quick; };
    parts.scale = [this](unsigned workers) { asked.push_back("scale " + std::to_string(wanted = workers)); };
    parts.reload = [this](auto finished) { asked.push_back("reload"), reloads.push_back(std::move(finished)); };
    parts.recycle = [this](std::optional<unsigned> slot) -> Result<unsigned> {
      asked.push_back("recycle " + (slot ? std::to_string(*slot) : "all"));
      if (slot && *slot >= wanted) return Error{"no worker serves in slot " + std::to_string(*slot)};
      return slot ? 1 : wanted;
    };
    parts.sleep = [this](auto told) { asked.push_back("sleep"), told(Result<void>()); };
    parts.wake = [this](auto told) { asked.push_back("wake"), told(Error{"it cannot be loaded"}); };
    parts.room_for_a_reload = [this] { return room; };
    parts.wanted = [this] { return wanted; };
    parts.affordable = [this](unsigned) { return affordable; };
    parts.mode = [this] { return mode; };
    parts.reopen_worker_logs = [this] { asked.push_back("reopen the workers' logs"); };
    parts.reopen_logs = [this] { asked.push_back("reopen our logs"); };
    parts.status_document = [this] { return status; };
    parts.events = [this](const EventsCommand& asked_for, auto told) {
      asked.push_back("events after " + std::to_string(asked_for.after));
      told(Result<std::string>(R"({"events":[],"last":0,"missed":0})"));
    };
    parts.run_call = [this](const std::string& name, auto ended) -> Result<void> {
      asked.push_back("run the call " + name);
      if (name != "nightly") return Error{"no scheduled call is named '" + name + "'"};
      calls.push_back(std::move(ended));
      return {};
    };
    parts.say = [this](const std::string& line) { said.push_back(line); };
    return parts;
  }
};
}  // namespace moult::test
