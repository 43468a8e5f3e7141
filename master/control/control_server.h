#pragma once
// The control socket of the master: lets the same user and root ask what command.h knows. Made and owned by Instance,
// on the loop's thread; its end closes all clients, which is what `moult stop --wait` waits for. The loop must run once
// more after it. SIGPIPE must be ignored (block_signals_early() does it): libuv writes to clients that may have gone.
#include <uv.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/uv_handle.h"
#include "master/control/command_runner.h"
#include "master/control/control_socket.h"
#include "master/control/operator.h"
namespace moult {
class ControlConnection;

struct ControlServerOptions {
  std::string path;
  ControlIdentity identity;
  // Choices, not measurements: people and scripts are few, and a script that forgot its connection must not keep others
  // out.
  std::size_t most_clients = 64;
  Duration longest_idle = std::chrono::seconds(60);
};

class ControlServer {
 public:
  static Result<std::unique_ptr<ControlServer>> open(uv_loop_t*, ControlServerOptions, Operator&);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  const std::string& path() const { return socket_.path(); }
  std::size_t clients() const { return clients_.size(); }

 private:
  ControlServer(uv_loop_t*, ControlServerOptions, Operator&, ControlSocket);
  Result<void> listen();
  void accept();

  uv_loop_t* loop_;
  ControlServerOptions options_;
  Operator& operator_;
  ControlSocket socket_;
  UvHandle<uv_pipe_t> listener_;
  std::map<ControlConnection*, std::shared_ptr<ControlConnection>> clients_;
};
}  // namespace moult
