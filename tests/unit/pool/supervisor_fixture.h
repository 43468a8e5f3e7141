#pragma once
// A supervisor on a real loop, with a launcher, links and a gate that do what the test says.
#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "master/pool/pool_parts.h"
#include "master/pool/supervisor.h"
namespace moult {
using namespace std::chrono_literals;
struct ScriptedLink final : WorkerLink {
  std::vector<std::string>& said;
  WorkerId id;
  ScriptedLink(std::vector<std::string>& words, WorkerId worker) : said(words), id(worker) {}
  std::string name() const { return std::to_string(id.value); }
  void go(unsigned slot) override { said.push_back("go " + name() + " to slot " + std::to_string(slot)); }
  void retire(MonotonicTime, Adopters adopters) override {
    said.push_back("retire " + name() + (adopters == Adopters::some ? ", others follow" : ""));
  }
  void signal(int number) override { said.push_back("signal " + std::to_string(number) + " to " + name()); }
  void reopen_logs() override { said.push_back("reopen " + name()); }
  pid_t pid() const override { return static_cast<pid_t>(1000 + id.value); }
  const ScoreboardMemory* scoreboard() const override { return nullptr; }
  std::optional<MonotonicTime> heartbeat() const override { return std::nullopt; }
};

struct ScriptedLauncher final : Launcher {
  std::vector<std::string> said;
  LoadEvents loads;
  std::map<WorkerId, LinkEvents> links;
  std::map<WorkerId, Generation> generations;
  void load(Generation g, const LoadEvents& events) override {
    said.push_back("load " + std::to_string(g.value));
    loads = events;
  }
  std::unique_ptr<WorkerLink> launch(const Spawn& spawn, const LinkEvents& events) override {
    said.push_back("launch " + std::to_string(spawn.id.value));
    links[spawn.id] = events;
    generations[spawn.id] = spawn.generation;
    return std::make_unique<ScriptedLink>(said, spawn.id);
  }
  void drop(Generation g) override { said.push_back("drop " + std::to_string(g.value)); }
  std::size_t running() const override { return 0; }
  pid_t fork_server_pid(Generation) const override { return 0; }
};

struct CountedGrant final : Grant {
  unsigned& count;
  explicit CountedGrant(unsigned& living) : count(living) { ++count; }
  ~CountedGrant() override { --count; }
};
struct ScriptedGate final : Gate {
  std::function<void(GateAnswer)> answer;  // to the last question
  AskId asked;
  Waiting waiting;
  unsigned living = 0;
  void on_waiting(Waiting told) override { waiting = std::move(told); }
  std::unique_ptr<Grant> acquire(AskId ask, Urgency, Budget, std::function<void(GateAnswer)> answered) override {
    asked = ask;
    answer = std::move(answered);
    return std::make_unique<CountedGrant>(living);
  }
};

struct Notes final : WorkerObserver {
  std::vector<std::string> notes;
  void worker_serving(const Worker& w, pid_t) override { note("serving", w.id.value); }
  void worker_parked(const Worker& w, pid_t) override { note("waits", w.id.value); }
  void boot_failed(const Worker& w, const Exit&) override { note("boot failed", w.id.value); }
  void worker_gone(const Worker& w, const Exit&) override { note("gone", w.id.value); }
  void worker_next_due(const Worker& w, pid_t, const std::string& due) override { note("due " + due, w.id.value); }
  void generation_rejected(Generation g, const std::string& cause) override { note("rejected for " + cause, g.value); }
  void pool_settled(const Pool&) override { ++times_settled; }
  unsigned times_settled = 0;
  void note(const std::string& what, std::uint64_t number) { notes.push_back(what + " " + std::to_string(number)); }
};

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() {
    uv_loop_init(&loop);
    supervisor = std::make_unique<Supervisor>(&loop, policy, launcher, gate);
    supervisor->observe(notes);
    supervisor->on_finished([this](int code) { exit_code = code; });
    supervisor->on_close_listeners([this](WorkerId) { supervisor->listeners_closed(); });
  }
  ~SupervisorTest() override {
    supervisor.reset();
    uv_run(&loop, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&loop), 0);
  }
  void serve(unsigned workers) {
    supervisor->start(workers);
    launcher.loads.loaded({1});
    for (std::uint64_t id = 1; id <= workers; ++id) launcher.links.at({id}).ready({id}, Drain::close);
    launcher.said.clear();
    notes.notes.clear();
  }
  void exits(std::uint64_t id, int status) { launcher.links.at({id}).gone({id}, Exit{.pid = 1, .status = status}); }

  uv_loop_t loop;
  SupervisorPolicy policy{{{60s, 30s, 10s}, 2, {1s, 30s}, 10s, 0s}, {{1s, 30s}, 10s, 5, BeforeReload::keep_the_old}, 1};
  ScriptedLauncher launcher;
  ScriptedGate gate;
  Notes notes;
  std::optional<int> exit_code;
  std::unique_ptr<Supervisor> supervisor;
};
}  // namespace moult
