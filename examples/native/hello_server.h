#pragma once
// A small HTTP server over epoll, as a worker of moult: it shows each duty of a worker once. One thread.
//
//   it retires: it stops accepting; each visitor's connection that is between two requests goes to the master, and from
//   there to another worker (WorkerDrain::handover); those in the middle of a request get their answer first; it ends
//   when it has none left. What the master declines is served here, and its next answer says `Connection: close`.
//
//   it is the last one: nobody will serve what it gives up. It accepts what waits at its doors, and closes them; each
//   answer says `Connection: close`; who is idle is closed, but not before a first request had time to come.
//
//   it adopts what others gave up, as if it had just accepted it.
//
//   a stop has begun: it serves on, and each answer says `Connection: close`.
#include <sys/epoll.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "http.h"
#include "moult_worker.h"
namespace example {
inline constexpr std::size_t max_connections = 10'000;
inline constexpr std::uint64_t linger_ns = 2'000'000'000;  // how long a closing one may still send what nobody reads
inline constexpr std::uint64_t fresh_ns = 1'000'000'000;   // how long a first request may be on its way

struct Answer {
  int status = 0;
  std::string body;
  std::uint64_t delay_ns = 0;
};
using Handler = Answer (*)(const HttpRequest&, const moult::WorkerContext&);

class HelloServer {
 public:
  HelloServer(moult::WorkerContext&, Handler);
  ~HelloServer();
  HelloServer(const HelloServer&) = delete;
  HelloServer& operator=(const HelloServer&) = delete;
  int run();  // until it has retired; the exit status

 private:
  struct Connection {
    int fd = -1;
    moult::WorkerContext::Caller caller;
    std::string in, out;
    std::optional<moult::WorkerContext::Request> request;  // in flight
    int status = 0;                                        // of its answer
    Answer answer;                                         // not yet written
    std::uint64_t answer_at_ns = 0;                        // zero: not waiting to answer
    bool keep_alive = true, without_body = false, closing = false, declined = false, has_asked = false;
    std::uint64_t close_at_ns = UINT64_MAX;  // keep-alive or linger ends
  };
  void watch(int fd, std::uint32_t events, int operation);
  void accept_all(bool accepting);
  void accept_from(int listener, moult::WorkerContext::Caller);
  void handle(const epoll_event&);
  void read_from(Connection&);
  void advance(Connection&);
  void begin_request(Connection&, const HttpRequest&);
  void write_answer(Connection&);
  void end_request(Connection&);
  void retire(const moult::WorkerMessage&);
  bool may_move(const Connection&) const;
  bool stays(const Connection&) const;
  bool is_over(const Connection&) const;
  void leave(Connection&);
  void hand_over(Connection&);
  void take_back(std::uint64_t number);
  void welcome(int fd, moult::WorkerContext::Caller);
  void close_gently(Connection&);
  void close_now(int fd);
  void timers();
  int wait_milliseconds() const;
  void hear_the_master();

  moult::WorkerContext& context_;
  Handler handler_;
  int epoll_fd_;
  std::uint64_t keep_alive_ns_, heartbeat_ns_;
  std::map<int, moult::WorkerContext::Caller> listeners_;
  std::map<int, Connection> connections_;
  std::map<std::uint64_t, Connection> given_;  // whose descriptors the context has, until the master answers
  bool accepting_ = false, announces_close_ = false, retiring_ = false, parking_ = true, master_gone_ = false;
  std::uint64_t deadline_ns_ = UINT64_MAX, fresh_until_ns_ = 0;
};
}  // namespace example
