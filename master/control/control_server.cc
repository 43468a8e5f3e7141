#include "master/control/control_server.h"

#include <sys/socket.h>

#include <optional>
#include <string_view>
#include <utility>

#include "master/control/control_connection.h"
#include "master/control/control_frame.h"
namespace moult {
namespace {
UvHandle<uv_pipe_t> make_pipe(uv_loop_t* loop) {
  auto* pipe = new uv_pipe_t;
  uv_pipe_init(loop, pipe, /*ipc=*/0);  // never fails
  return UvHandle<uv_pipe_t>(pipe);
}

std::optional<ucred> peer_of(uv_pipe_t* pipe) {
  uv_os_fd_t fd = -1;
  ucred peer{};
  socklen_t length = sizeof peer;
  if (uv_fileno(reinterpret_cast<uv_handle_t*>(pipe), &fd) != 0) return std::nullopt;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return peer;
}

// One sentence to somebody who is not served. A fresh socket takes it at once; nobody waits if it does not.
void part(uv_pipe_t* pipe, const std::string& why) {
  std::string bytes = refusal_frame(why);
  const uv_buf_t buffer = uv_buf_init(bytes.data(), static_cast<unsigned>(bytes.size()));
  uv_try_write(reinterpret_cast<uv_stream_t*>(pipe), &buffer, 1);
}
}  // namespace

ControlServer::ControlServer(uv_loop_t* loop, ControlServerOptions options, Operator& wishes, ControlSocket socket)
    : loop_(loop),
      options_(std::move(options)),
      operator_(wishes),
      socket_(std::move(socket)),
      listener_(make_pipe(loop)) {
  listener_->data = this;
}

ControlServer::~ControlServer() { socket_.give_back(); }  // before the listener closes

Result<std::unique_ptr<ControlServer>> ControlServer::open(uv_loop_t* loop, ControlServerOptions options,
                                                           Operator& wishes) {
  auto socket = ControlSocket::open(options.path);
  if (!socket) return socket.error();
  std::unique_ptr<ControlServer> server(new ControlServer(loop, std::move(options), wishes, *std::move(socket)));
  if (const auto listening = server->listen(); !listening) return listening.error();
  return server;
}

Result<void> ControlServer::listen() {
  UniqueFd fd = socket_.take_listening();
  int error = uv_pipe_open(listener_.get(), fd.get());
  if (!error) {
    fd.release();
    error = uv_listen(reinterpret_cast<uv_stream_t*>(listener_.get()), control_backlog,
                      [](uv_stream_t* listener, int status) {
                        if (status == 0) static_cast<ControlServer*>(listener->data)->accept();
                      });
  }
  if (error) return Error{"cannot listen at " + socket_.path() + ": " + uv_strerror(error), -error};
  return {};
}

void ControlServer::accept() {
  auto pipe = make_pipe(loop_);
  if (uv_accept(reinterpret_cast<uv_stream_t*>(listener_.get()), reinterpret_cast<uv_stream_t*>(pipe.get())) != 0)
    return;
  const auto peer = peer_of(pipe.get());
  if (!peer || (peer->uid != ::geteuid() && peer->uid != 0))
    return part(pipe.get(), "this moult obeys uid " + std::to_string(::geteuid()) + " and root only");
  if (clients_.size() >= options_.most_clients)
    return part(pipe.get(), std::to_string(options_.most_clients) + " clients are connected already: try again later");
  ControlConnection::Events events;
  events.run = [this, asked_by = "the control socket (uid " + std::to_string(peer->uid) + ", pid " +
                                 std::to_string(peer->pid) + ")"](const Command& command, auto later) {
    return run_command(operator_, options_.identity, command, asked_by, std::move(later));
  };
  events.closed = [this](ControlConnection* gone) { clients_.erase(gone); };
  auto client = std::make_shared<ControlConnection>(std::move(pipe), options_.longest_idle, std::move(events));
  clients_.emplace(client.get(), client);
  client->start();
}
}  // namespace moult
