#pragma once
// One client of the control socket. Owned by ControlServer, on the loop's thread.
//
//   reading   -> running     a whole command came; its answer comes later (reload --wait)
//   reading   -> answering   the answer is known at once
//   running   -> answering   the answer came; no time runs while a command is carried out
//   running   -> (closed)    the client is gone: it must not keep a place for as long as an answer may take
//   answering -> reading     the client took the answer: the next command, in order
//   any       -> parting     a frame that cannot be trusted: the error is the last that is said
//   parting   -> (closed)    the client took it
// In each stage but running a bound on time closes the connection: one that is idle, or does not take its answer.
// So a client costs at most one frame read ahead and one answer written, whatever it does.
#include <uv.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/uv_handle.h"
#include "master/control/command_runner.h"
#include "master/control/control_frame.h"
namespace moult {
class ControlConnection : public std::enable_shared_from_this<ControlConnection> {
 public:
  struct Events {
    std::function<std::optional<CommandResult>(const Command&, std::function<void(CommandResult)> later)> run;
    std::function<void(ControlConnection*)> closed;  // once; the owner lets go of it
  };
  ControlConnection(UvHandle<uv_pipe_t> pipe, Duration longest_idle, Events events);
  ControlConnection(const ControlConnection&) = delete;
  ControlConnection& operator=(const ControlConnection&) = delete;

  void start();  // apart from the constructor: it needs shared_from_this()

 private:
  enum class Stage { reading, running, answering, parting };
  struct Write;

  void read_more();
  int start_reading();
  bool hung_up() const;
  void arrived(std::string_view bytes);
  void next_command();
  void run(const nlohmann::json& frame);
  void answer(const CommandResult&);
  void write(std::string bytes, Stage);
  void written(int status);
  void give_time();
  void close();

  UvHandle<uv_pipe_t> pipe_;
  UvHandle<uv_timer_t> timer_;
  const std::uint64_t longest_idle_ms_;
  Events events_;
  ControlFrames frames_{longest_command_bytes};
  char read_buffer_[4096];
  Stage stage_ = Stage::reading;
  bool waits_for_end_ = false;  // `stop --wait`: it stays until we go
};
}  // namespace moult
