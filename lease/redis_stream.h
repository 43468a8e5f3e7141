#pragma once
// The transport of one connection: a name looked up, its addresses tried one after the other, TLS over it, and then
// bytes both ways. Made and owned by RedisConnection, anew for each attempt. On the loop's thread.
//
//   looking up -> connecting -> TLS -> open -> (closed)     unix sockets and numeric hosts begin at connecting
//
// It has no deadline of its own: its owner closes it. Of the budget each address gets its share of what is left, at
// most next_address_after, so that one that does not answer leaves time for the next; the last one has the rest. No
// event is called from inside a call.
#include <uv.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/budget.h"
#include "base/budget_timer.h"
#include "base/result.h"
#include "base/uv_handle.h"
#include "lease/redis_url.h"
#include "lease/tls.h"
namespace moult {
inline constexpr std::size_t most_store_addresses = 8;                          // of one name; more are not tried
inline constexpr Duration next_address_after = std::chrono::milliseconds(250);  // as RFC 8305, 8 recommends

class RedisStream : public std::enable_shared_from_this<RedisStream> {
 public:
  struct Events {
    std::function<void()> opened;
    std::function<void(std::string_view)> arrived;
    std::function<void(Error)> closed;  // once; also when it cannot be opened. Its own doing: not after close()
  };
  // `tls`: for rediss://, else null.
  static std::shared_ptr<RedisStream> open(uv_loop_t*, const RedisAddress&, std::shared_ptr<const TlsContext> tls,
                                           Budget, Events);
  RedisStream(const RedisStream&) = delete;
  RedisStream& operator=(const RedisStream&) = delete;

  // Once open. What is written in one turn of the loop leaves together, before the loop next waits.
  void write(std::string_view bytes);
  std::size_t unsent_bytes() const;
  // No event comes any more; the descriptor goes with the loop's next turn. The owner must call it before it lets go.
  void close();
  const char* stage() const;  // for "... took too long"

 private:
  enum class Stage { looking_up, connecting, shaking_hands, open, closed };
  struct Lookup;
  struct Connect;
  struct Write;

  RedisStream(uv_loop_t*, const RedisAddress&, std::shared_ptr<const TlsContext>, Budget, Events);
  void start();
  void look_up();
  void looked_up(int status, const addrinfo* found);
  void try_next_address();
  void address_failed(Error);
  void connect_unix();
  void connected(const uv_stream_t*, int status);
  void start_tls();
  void read_more();
  void received(std::string_view bytes);
  void ended();
  void opened();
  void flush();
  void send(std::string bytes);
  void fail(Error);
  void fail_soon(Error);
  uv_stream_t* stream() const;

  uv_loop_t* loop_;
  RedisAddress address_;
  std::shared_ptr<const TlsContext> tls_context_;
  Budget budget_;
  Events events_;
  Stage stage_ = Stage::connecting;
  std::shared_ptr<Lookup> lookup_;
  std::vector<sockaddr_storage> addresses_;  // not tried yet, the next one last
  UvHandle<uv_tcp_t> tcp_;
  UvHandle<uv_pipe_t> pipe_;
  std::unique_ptr<TlsSession> tls_;
  std::string gathered_;  // in this turn
  UvHandle<uv_prepare_t> before_waiting_;
  BudgetTimer timer_;  // an address's share; or a failure that must not be told from inside a call
  std::unique_ptr<Error> failure_;
};
}  // namespace moult
