#pragma once
// ForkServers on a real loop, with fork servers and workers that behave well or badly (fake_fork_server.py), and what
// they said.
#include <filesystem>

#include "master/launch/fork_servers.h"
#include "tests/unit/launch/launch_loop.h"
namespace moult {
inline constexpr Generation first{1};

class ForkServerTest : public LaunchLoop {
 protected:
  ~ForkServerTest() override {
    links.clear();
    launcher.reset();
  }
  void make(const std::string& server_mode, const std::string& worker_mode = "ready",
            OutputRoute output = OutputRoute::inherit) {
    ForkServersOptions options;
    const auto script = std::filesystem::path(__FILE__).parent_path() / "fake_fork_server.py";
    options.program = {"/usr/bin/python3", script, server_mode, worker_mode};
    options.settings.app = folder.file("app");
    options.child.environment = test_environment();
    options.child.output = output;
    options.child.sink = [this](OutputStream stream, std::string_view line) {
      lines.push_back((stream == OutputStream::standard_error ? "err:" : "out:") + std::string(line));
      return true;
    };
    options.if_silent = "is it one?";
    options.warn = [this](const std::string& text) { warnings.push_back(text); };
    launcher = std::make_unique<ForkServers>(&loop, *orphans, std::move(options));
  }
  void load(Generation generation = first) {
    launcher->load(generation, {.loaded = [this](Generation g) { loaded.push_back(g); },
                                .load_failed = [this](Generation, const Error& e) { failures.push_back(e.message); },
                                .lost = [this](Generation, const Exit& e) { lost.push_back(e); }});
  }
  void make_loaded(const std::string& server_mode, const std::string& worker_mode = "ready",
                   OutputRoute output = OutputRoute::inherit) {
    make(server_mode, worker_mode, output);
    load();
    ASSERT_TRUE(run_until([&] { return !loaded.empty(); }));
  }
  WorkerLink& launch(std::uint64_t id, unsigned slot = 0, Generation generation = first) {
    links.push_back(launcher->launch({WorkerId{id}, slot, generation},
                                     {.started = [this](WorkerId, pid_t pid) { started.push_back(pid); },
                                      .parked = [this](WorkerId) { ++parked; },
                                      .ready = [this](WorkerId w, Drain d) { ready.emplace_back(w, d); },
                                      .status = [this](WorkerId, const std::string& s) { statuses.push_back(s); },
                                      .refused = [this](WorkerId, const std::string& w) { refused.push_back(w); },
                                      .gone =
                                          [this](WorkerId, const Exit& e) {
                                            gone.push_back(e);
                                            passed.push_back("gone");
                                          },
                                      .connections = connections,
                                      .next_due = [this](WorkerId, const std::string& s) { next_due.push_back(s); }}));
    return *links.back();
  }
  void hear_of_connections() {
    const auto number = [](const auto& id) { return std::to_string(id.value); };
    connections = {.stored = [this](WorkerId, std::uint64_t as,
                                    UniqueFd fd) { passed.push_back((fd ? "stored " : "lost ") + std::to_string(as)); },
                   .adopted = [=, this](WorkerId, ConnectionId id) { passed.push_back("adopted " + number(id)); },
                   .declined = [=, this](WorkerId, ConnectionId id) { passed.push_back("declined " + number(id)); },
                   .ended = [=, this](WorkerId who) { passed.push_back("end of " + number(who)); }};
  }
  WorkerLink& launch_ready() {
    WorkerLink& link = launch(1);
    EXPECT_TRUE(run_until([&] { return !ready.empty(); }));
    statuses.clear();
    return link;
  }
  bool all_gone(std::size_t count = 1) {
    return run_until([&] { return gone.size() == count; });
  }

  TemporaryFolder folder;
  std::unique_ptr<ForkServers> launcher;
  std::vector<std::unique_ptr<WorkerLink>> links;
  std::vector<Generation> loaded;
  std::vector<std::string> failures, warnings, statuses, refused, lines, next_due;
  std::vector<Exit> lost, gone;
  std::vector<pid_t> started;
  std::vector<std::pair<WorkerId, Drain>> ready;
  int parked = 0;
  ConnectionEvents connections;
  std::vector<std::string> passed;
};
}  // namespace moult
