#include "lease/redis_stream.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
namespace moult {
namespace {
template <class Handle>
RedisStream* of(Handle* handle) {
  return static_cast<RedisStream*>(handle->data);
}
// Whoever left may have said why: reading finds out, and then the end.
bool reading_tells(int status) { return status == UV_EPIPE || status == UV_ECONNRESET || status == UV_ECANCELED; }

Error uv_error(const std::string& what, int status) { return Error{what + ": " + uv_strerror(status), -status}; }

UvHandle<uv_prepare_t> make_prepare(uv_loop_t* loop, void* data) {
  auto* prepare = new uv_prepare_t;
  uv_prepare_init(loop, prepare);  // never fails
  prepare->data = data;
  return UvHandle<uv_prepare_t>(prepare);
}
}  // namespace

// libuv touches requests until their callbacks, which may come when the stream is gone: they own themselves.
struct RedisStream::Lookup {
  uv_getaddrinfo_t request{};
  std::weak_ptr<RedisStream> stream;
  std::shared_ptr<Lookup> self;  // until the callback
};
struct RedisStream::Connect {
  uv_connect_t request{};
  std::weak_ptr<RedisStream> stream;
};
struct RedisStream::Write {
  uv_write_t request{};
  std::string bytes;
  std::weak_ptr<RedisStream> stream;
};

RedisStream::RedisStream(uv_loop_t* loop, const RedisAddress& address, std::shared_ptr<const TlsContext> tls,
                         Budget budget, Events events)
    : loop_(loop),
      address_(address),
      tls_context_(std::move(tls)),
      budget_(budget),
      events_(std::move(events)),
      before_waiting_(make_prepare(loop, this)),
      timer_(loop, [this] {
        if (failure_) fail(*failure_);
        else address_failed(Error{"no answer", ETIMEDOUT});
      }) {}

std::shared_ptr<RedisStream> RedisStream::open(uv_loop_t* loop, const RedisAddress& address,
                                               std::shared_ptr<const TlsContext> tls, Budget budget, Events events) {
  std::shared_ptr<RedisStream> stream(new RedisStream(loop, address, std::move(tls), budget, std::move(events)));
  stream->start();
  return stream;
}

void RedisStream::start() {
  if (address_.kind == RedisAddress::Kind::unix_socket) return connect_unix();
  sockaddr_storage numeric{};
  if (uv_ip4_addr(address_.host.c_str(), address_.port, reinterpret_cast<sockaddr_in*>(&numeric)) == 0 ||
      uv_ip6_addr(address_.host.c_str(), address_.port, reinterpret_cast<sockaddr_in6*>(&numeric)) == 0) {
    addresses_ = {numeric};
    return try_next_address();
  }
  look_up();
}

void RedisStream::look_up() {
  stage_ = Stage::looking_up;
  lookup_ = std::make_shared<Lookup>();
  lookup_->stream = weak_from_this();
  lookup_->request.data = lookup_.get();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  const int error = uv_getaddrinfo(
      loop_, &lookup_->request,
      [](uv_getaddrinfo_t* request, int status, addrinfo* found) {
        const auto done = std::move(static_cast<Lookup*>(request->data)->self);
        if (const auto stream = done->stream.lock()) stream->looked_up(status, found);
        uv_freeaddrinfo(found);
      },
      address_.host.c_str(), std::to_string(address_.port).c_str(), &hints);
  if (error) return fail_soon(uv_error("the host " + address_.host + " cannot be looked up", error));
  lookup_->self = lookup_;
}

void RedisStream::looked_up(int status, const addrinfo* found) {
  if (stage_ != Stage::looking_up) return;
  lookup_.reset();
  if (status != 0) return fail(uv_error("the host " + address_.host + " is not found", status));
  for (; found && addresses_.size() < most_store_addresses; found = found->ai_next) {
    sockaddr_storage address{};
    std::memcpy(&address, found->ai_addr, std::min<std::size_t>(found->ai_addrlen, sizeof address));
    addresses_.push_back(address);
  }
  std::ranges::reverse(addresses_);
  if (addresses_.empty()) return fail(Error{"the host " + address_.host + " has no address"});
  try_next_address();
}

void RedisStream::try_next_address() {
  stage_ = Stage::connecting;
  const Duration share =
      std::min(budget_.left(monotonic_now(loop_)) / static_cast<int>(addresses_.size()), next_address_after);
  const sockaddr_storage address = addresses_.back();
  addresses_.pop_back();
  timer_.stop();
  if (!addresses_.empty()) (void)timer_.after(share, budget_);
  auto* tcp = new uv_tcp_t;
  uv_tcp_init(loop_, tcp);  // makes no socket yet: cannot fail
  tcp->data = this;
  tcp_.reset(tcp);
  auto* connect = new Connect{{}, weak_from_this()};
  connect->request.data = connect;
  const int error = uv_tcp_connect(&connect->request, tcp, reinterpret_cast<const sockaddr*>(&address),
                                   [](uv_connect_t* request, int status) {
                                     const std::unique_ptr<Connect> done(static_cast<Connect*>(request->data));
                                     if (const auto stream = done->stream.lock())
                                       stream->connected(request->handle, status);
                                   });
  if (!error) return;
  delete connect;
  if (addresses_.empty()) fail_soon(uv_error("cannot connect", error));
  else (void)timer_.after(Duration::zero(), budget_);
}

void RedisStream::address_failed(Error error) {
  if (addresses_.empty()) fail(std::move(error));
  else try_next_address();
}

void RedisStream::connect_unix() {
  auto* pipe = new uv_pipe_t;
  uv_pipe_init(loop_, pipe, 0);  // makes no socket yet: cannot fail
  pipe->data = this;
  pipe_.reset(pipe);
  auto* connect = new Connect{{}, weak_from_this()};
  connect->request.data = connect;
  uv_pipe_connect(&connect->request, pipe, address_.path.c_str(), [](uv_connect_t* request, int status) {
    const std::unique_ptr<Connect> done(static_cast<Connect*>(request->data));
    if (const auto stream = done->stream.lock()) stream->connected(request->handle, status);
  });
}

void RedisStream::connected(const uv_stream_t* which, int status) {
  if (stage_ != Stage::connecting || which != stream()) return;  // an address that was given up
  if (status != 0) return address_failed(uv_error("cannot connect", status));
  timer_.stop();
  if (tcp_) uv_tcp_nodelay(tcp_.get(), 1);
  read_more();
  if (stage_ != Stage::connecting) return;
  if (tls_context_) start_tls();
  else opened();
}

void RedisStream::start_tls() {
  auto session = TlsSession::start(tls_context_, address_.host);
  if (!session) return fail(session.error());
  stage_ = Stage::shaking_hands;
  tls_ = *std::move(session);
  send(tls_->take_outgoing());
}

void RedisStream::opened() {
  stage_ = Stage::open;
  const auto self = shared_from_this();
  events_.opened();
}

void RedisStream::read_more() {
  const int error = uv_read_start(
      stream(),
      [](uv_handle_t*, std::size_t, uv_buf_t* buffer) {
        static thread_local std::array<char, 64 * 1024> piece;  // used up before the next read
        *buffer = uv_buf_init(piece.data(), piece.size());
      },
      [](uv_stream_t* handle, ssize_t length, const uv_buf_t* buffer) {
        const auto self = of(handle)->shared_from_this();
        if (length > 0) self->received({buffer->base, static_cast<std::size_t>(length)});
        else if (length == UV_EOF) self->ended();
        else if (length < 0) self->fail(uv_error("the connection was lost", static_cast<int>(length)));
      });
  if (error) fail(uv_error("cannot read", error));
}

void RedisStream::received(std::string_view bytes) {
  if (!tls_) return events_.arrived(bytes);
  const bool was_established = tls_->established();
  const auto plain = tls_->received(bytes);
  send(tls_->take_outgoing());  // also the alert that says why we go
  if (stage_ == Stage::closed) return;
  if (!plain) return fail(plain.error());
  if (!was_established && tls_->established()) opened();
  if (stage_ == Stage::open && !plain->empty()) events_.arrived(*plain);
}

void RedisStream::ended() {
  const bool in_handshake = stage_ == Stage::shaking_hands;
  const std::string where = in_handshake ? " in the TLS handshake; does it speak TLS on this port?" : "";
  fail(Error{"the store closed the connection" + where, ECONNRESET});
}

void RedisStream::write(std::string_view bytes) {
  if (stage_ != Stage::open) return;
  if (gathered_.empty())
    uv_prepare_start(before_waiting_.get(), [](uv_prepare_t* prepare) {
      const auto self = of(prepare)->shared_from_this();
      self->flush();
    });
  gathered_ += bytes;
}

void RedisStream::flush() {
  uv_prepare_stop(before_waiting_.get());
  std::string bytes = std::exchange(gathered_, {});
  if (tls_) {
    if (const auto sent = tls_->send(bytes); !sent) return fail(sent.error());
    bytes = tls_->take_outgoing();
  }
  send(std::move(bytes));
}

void RedisStream::send(std::string bytes) {
  if (bytes.empty()) return;
  const uv_buf_t all = uv_buf_init(bytes.data(), static_cast<unsigned>(bytes.size()));
  const int written = uv_try_write(stream(), &all, 1);
  if (written >= 0) bytes.erase(0, static_cast<std::size_t>(written));
  else if (reading_tells(written)) return;
  else if (written != UV_EAGAIN) return fail_soon(uv_error("the connection was lost", written));
  if (bytes.empty()) return;
  auto* write = new Write{{}, std::move(bytes), weak_from_this()};
  write->request.data = write;
  const uv_buf_t rest = uv_buf_init(write->bytes.data(), static_cast<unsigned>(write->bytes.size()));
  const int error = uv_write(&write->request, stream(), &rest, 1, [](uv_write_t* request, int status) {
    const std::unique_ptr<Write> done(static_cast<Write*>(request->data));
    const auto stream = done->stream.lock();
    if (stream && status != 0 && !reading_tells(status)) stream->fail(uv_error("the connection was lost", status));
  });
  if (!error) return;
  delete write;
  fail_soon(uv_error("the connection was lost", error));
}

std::size_t RedisStream::unsent_bytes() const {
  return gathered_.size() + (stream() ? uv_stream_get_write_queue_size(stream()) : 0);
}

void RedisStream::fail(Error error) {
  if (stage_ == Stage::closed) return;
  const auto self = shared_from_this();
  const auto closed = std::move(events_.closed);
  close();
  closed(std::move(error));
}

void RedisStream::fail_soon(Error error) {
  failure_ = std::make_unique<Error>(std::move(error));
  timer_.at_end_of({monotonic_now(loop_)});
}

void RedisStream::close() {
  if (stage_ == Stage::closed) return;
  stage_ = Stage::closed;
  if (lookup_) uv_cancel(reinterpret_cast<uv_req_t*>(&lookup_->request));
  lookup_.reset();
  timer_.stop();
  uv_prepare_stop(before_waiting_.get());
  gathered_.clear();
  tcp_.reset();
  pipe_.reset();
}

const char* RedisStream::stage() const {
  switch (stage_) {
    case Stage::looking_up: return "looking up its name";
    case Stage::connecting: return "connecting";
    case Stage::shaking_hands: return "the TLS handshake";
    case Stage::open: return "greeting it";
    case Stage::closed: break;
  }
  return "";
}

uv_stream_t* RedisStream::stream() const {
  if (tcp_) return reinterpret_cast<uv_stream_t*>(tcp_.get());
  return reinterpret_cast<uv_stream_t*>(pipe_.get());
}
}  // namespace moult
