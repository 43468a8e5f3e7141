#include "master/control/control_connection.h"

#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
namespace moult {
namespace {
ControlConnection* of(void* handle) { return static_cast<ControlConnection*>(static_cast<uv_handle_t*>(handle)->data); }
}  // namespace

// libuv touches the request and its bytes until its callback: they belong to it, not to the connection, which may be
// gone by then.
struct ControlConnection::Write {
  uv_write_t request{};
  std::string bytes;
  std::weak_ptr<ControlConnection> connection;
};

ControlConnection::ControlConnection(UvHandle<uv_pipe_t> pipe, Duration longest_idle, Events events)
    : pipe_(std::move(pipe)),
      timer_(make_timer(pipe_->loop, this)),
      longest_idle_ms_(static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(longest_idle).count())),
      events_(std::move(events)) {
  pipe_->data = this;
}

void ControlConnection::start() { read_more(); }

void ControlConnection::give_time() {
  if (waits_for_end_) return;
  uv_timer_start(
      timer_.get(), [](uv_timer_t* timer) { of(timer)->close(); }, longest_idle_ms_, 0);
}

void ControlConnection::read_more() {
  give_time();
  const int error = start_reading();
  if (error && error != UV_EALREADY) close();
}

int ControlConnection::start_reading() {
  return uv_read_start(
      reinterpret_cast<uv_stream_t*>(pipe_.get()),
      [](uv_handle_t* pipe, std::size_t, uv_buf_t* buffer) {
        buffer->base = of(pipe)->read_buffer_;
        buffer->len = sizeof of(pipe)->read_buffer_;
      },
      [](uv_stream_t* pipe, ssize_t length, const uv_buf_t*) {
        const auto self = of(pipe)->shared_from_this();  // it may close itself below
        if (length > 0) self->arrived({self->read_buffer_, static_cast<std::size_t>(length)});
        else if (length == 0) return;
        // Who says nothing more may still hear: he is gone when he has closed both ways. Outside `running` all that he
        // sent was answered before this was read.
        else if (self->stage_ != Stage::running || self->hung_up()) self->close();
        else uv_read_stop(pipe);
      });
}

bool ControlConnection::hung_up() const {
  uv_os_fd_t fd = -1;
  if (uv_fileno(reinterpret_cast<const uv_handle_t*>(pipe_.get()), &fd) != 0) return true;
  pollfd looked_at{fd, 0, 0};
  return ::poll(&looked_at, 1, 0) > 0 && (looked_at.revents & (POLLHUP | POLLERR)) != 0;
}

void ControlConnection::arrived(std::string_view bytes) {
  frames_.feed(bytes);
  if (stage_ == Stage::running) uv_read_stop(reinterpret_cast<uv_stream_t*>(pipe_.get()));  // it has its turn later
  else next_command();
}

void ControlConnection::next_command() {
  const auto frame = frames_.next();
  if (!frame) return read_more();
  uv_read_stop(reinterpret_cast<uv_stream_t*>(pipe_.get()));
  if (*frame) run(**frame);
  else write(refusal_frame(frame->error().message), Stage::parting);
}

void ControlConnection::run(const nlohmann::json& frame) {
  const auto command = parse_command(frame);
  if (!command) return answer(command.error());
  if (const auto* stop = std::get_if<StopCommand>(&*command)) waits_for_end_ = waits_for_end_ || stop->wait;
  stage_ = Stage::running;
  uv_timer_stop(timer_.get());
  const auto result = events_.run(*command, [weak = weak_from_this()](CommandResult later) {
    if (const auto self = weak.lock(); self && self->pipe_) self->answer(later);
  });
  if (result) return answer(*result);
  if (stage_ == Stage::running && start_reading() != 0) close();
}

void ControlConnection::answer(const CommandResult& result) {
  uv_read_stop(reinterpret_cast<uv_stream_t*>(pipe_.get()));
  std::string frame = result ? success_frame(*result) : refusal_frame(result.error().message);
  if (frame.size() > longest_answer_bytes)
    frame =
        refusal_frame("the answer is longer than the " + std::to_string(longest_answer_bytes) + " bytes it may have");
  write(std::move(frame), Stage::answering);
}

void ControlConnection::write(std::string bytes, Stage stage) {
  stage_ = stage;
  give_time();
  auto* write = new Write{{}, std::move(bytes), weak_from_this()};
  write->request.data = write;
  const uv_buf_t buffer = uv_buf_init(write->bytes.data(), static_cast<unsigned>(write->bytes.size()));
  const int error = uv_write(&write->request, reinterpret_cast<uv_stream_t*>(pipe_.get()), &buffer, 1,
                             [](uv_write_t* request, int status) {
                               const std::unique_ptr<Write> done(static_cast<Write*>(request->data));
                               if (const auto self = done->connection.lock()) self->written(status);
                             });
  if (!error) return;
  delete write;
  close();
}

void ControlConnection::written(int status) {
  if (!pipe_) return;
  if (status != 0 || stage_ == Stage::parting) return close();
  stage_ = Stage::reading;
  next_command();
}

void ControlConnection::close() {
  if (!pipe_) return;
  const auto self = shared_from_this();  // until the owner's callback, which is ours, has returned
  pipe_.reset();
  timer_.reset();
  events_.closed(this);
}
}  // namespace moult
