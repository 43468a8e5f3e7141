#pragma once
// A test that plays the master of a native fork server: settings in a memfd, the channel, the subreaper's duties. Every
// wait ends after ten seconds with an exception, which fails the test.
#include <sys/types.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "worker/channel.h"
#include "worker/scoreboard_memory.h"
namespace moult::testing_native {
// Built beside the test program, where an installation has them too.
std::string fork_server_program();
std::string test_app();
std::string example_app();

struct ServerPlan {
  std::string app = test_app();
  std::string preload = "on";
  std::string server_options = "{}";
  std::string settings{};  // instead of all of the above
  std::vector<int> listeners{};
  int internal_fd = -1, sidecar_fd = -1;
  std::function<void()> in_child{};  // just before exec
};

Received next_received(Channel&);  // waits for it
Message next_message(Channel&);    // waits for it; throws if it was bad
void await_end(Channel&);
std::string output_so_far(int fd);  // reads until the other end is closed

class PlayingServer {
 public:
  explicit PlayingServer(const ServerPlan&);
  ~PlayingServer();  // closes the channel and reaps it
  PlayingServer(const PlayingServer&) = delete;

  Channel& channel() { return *channel_; }
  pid_t pid() const { return pid_; }
  void close_channel() { channel_.reset(); }
  int exit_status();  // waits for its end; a signal counts as 1000 + signal

 private:
  std::optional<Channel> channel_;
  pid_t pid_ = -1;
  bool reaped_ = false;
};

// What the fork server said instead of FORKED.
struct NotForked : std::runtime_error {
  explicit NotForked(Message what) : std::runtime_error("not forked"), said(std::move(what)) {}
  Message said;
};

// One worker that the server was asked for.
struct PlayingWorker {
  Channel channel;
  ScoreboardMemory scoreboard;
  pid_t pid = -1;
  Message hello{};
  // Asks for it and waits for FORKED and HELLO.
  static PlayingWorker born(PlayingServer&, unsigned id, std::optional<unsigned> slot, std::vector<int> outputs = {});
  int exit_status() const;
};
int exit_status_of(pid_t);
}  // namespace moult::testing_native
