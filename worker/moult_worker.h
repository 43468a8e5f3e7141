#pragma once
// The worker's side of moult, for an app that is a shared object: moult loads it once (`--app native:./libapp.so`) and
// forks each worker from that process. The app defines these functions:
//
//   extern "C" int moult_preload(void);                       optional; once, before any fork: load what all workers
//                                                             share. Not zero: the load failed. Start no threads.
//   extern "C" int moult_worker_start(moult::WorkerContext&); optional; in each worker, before the next: all of its
//                                                             start-up that needs no listener and no slot. A spare
//                                                             (`--spares`) waits after it. Not zero: the exit status
//                                                             of a boot that failed.
//   extern "C" int moult_worker_main(moult::WorkerContext&);  in each worker; what it returns is the exit status.
//
// The context is made by moult and outlives moult_worker_main. There is nothing to link with: it is an interface, whose
// functions are only ever added at its end (api_version). Call it from one thread, the one that runs the app's loop.
// Nothing here blocks or throws. Nothing here is called back: what the master says is fetched with next_message().
// Guide with an example: native-workers.md.
#include <cstddef>
#include <cstdint>
namespace moult {
inline constexpr int worker_api_version = 3;
inline constexpr unsigned no_slot = ~0u;

// How a worker treats its idle connections when it retires.
enum class WorkerDrain {
  handover,  // it hands them to the master, which gives them to another worker; and it takes those of others,
             // take_connections(true)
  close,     // it closes them, after a last answer with `Connection: close` where one is due
  own        // in a way of its own
};

struct WorkerListener {
  int fd;               // a listening socket, shared by all workers: make it non-blocking, accept may find nothing
  const char* address;  // as a person writes it
  const char* family;   // "inet", "inet6" or "unix"
};

struct WorkerMessage {
  enum class Kind {
    nothing,        // nothing (more) now
    retire,         // stop accepting, finish what is in flight, exit by `deadline_ns`
    held,           // the master has `connection`: forget it. Its fd is closed already, without a shutdown
    declined,       // the master does not take `connection`: `fd` is yours again, resume it
    adopt,          // `fd` is a client's connection from another worker, between two requests. Serve it
    master_gone,    // said once; exit at once
    announce_close  // a stop has begun: serve on, but let each answer say `Connection: close`
  };
  Kind kind = Kind::nothing;
  std::uint64_t deadline_ns = UINT64_MAX;  // CLOCK_MONOTONIC; the greatest value: no deadline
  std::uint64_t connection = 0;            // what hand_over() returned
  int fd = -1;
  // Of `retire`: whether the master parks connections for other workers. If not, nobody will serve what this one gives
  // up: answer what comes, with `Connection: close`, and close the idle.
  bool parking = true;
};

class WorkerContext {
 public:
  enum class Caller {
    visitor,
    schedule,  // it came through the internal door: a scheduled call
    ignored,   // a health check, is_ignored(): no activity, and it keeps no app awake. Since version 2
    sidecar    // it came through the sidecar's door: not counted at all. Since version 3
  };
  using Request = std::uint64_t;

  virtual int api_version() const = 0;  // of the moult that runs; an app for a newer header looks here first

  // What the worker was given. Strings live as long as the context.
  virtual unsigned slot() const = 0;  // in moult_worker_start of a spare: no_slot
  virtual std::size_t listener_count() const = 0;
  virtual WorkerListener listener(std::size_t index) const = 0;
  virtual int internal_fd() const = 0;                            // the internal door, a listening socket; -1: none
  virtual const char* server_option(const char* name) const = 0;  // --server-option NAME=VALUE; null: not given
  virtual const char* setting(const char* name) const = 0;        // "keep_alive_seconds", ...; null: not set

  // The channel to the master, for the app's event loop: when poll(2) reports one of channel_events() on channel_fd(),
  // call next_message() until it says `nothing`. Ask for the events anew before each poll.
  virtual int channel_fd() const = 0;
  virtual short channel_events() const = 0;  // POLLIN, with POLLOUT while something waits to be sent; EPOLLIN is equal
  virtual WorkerMessage next_message() = 0;

  // What the worker says. Each is sent at once or, if the master is behind, kept and sent later. False: it was not
  // taken (too much waits, or the master is gone).
  virtual bool ready(WorkerDrain) = 0;  // start-up is done and the listeners are in the loop: the worker serves
  virtual bool stopping() = 0;          // it accepts no new connection any more
  virtual bool status(const char* one_line) = 0;
  // When its own schedule next needs the app awake: say it on `retire`. If the app goes to sleep, it is awake again by
  // then. The last word counts; see worker-contract.md for what is refused.
  virtual bool next_due(std::int64_t unix_seconds) = 0;

  // In every turn of the loop, and at least every quarter of the setting timeout_seconds, also when nothing happens: a
  // worker that is silent for that long is taken for hung and killed. Also sends what was kept.
  virtual void heartbeat() = 0;

  // Requests, from the moment its head is read to the moment its answer is handed to the kernel. Finish each, once,
  // whatever became of it. Cost: below 1 us for both.
  virtual Request request_started(Caller) = 0;
  virtual void request_is_long(Request) = 0;                    // a stream or an upgrade: exempt from --request-timeout
  virtual void request_finished(Request, int http_status) = 0;  // zero: it had no answer
  virtual void connections(std::size_t open, std::size_t upgraded) = 0;

  // Passes a client's connection to the master. Only between two requests: nothing read, answered or buffered that the
  // next worker would miss; and stop reading first. From here on `fd` is the context's, until `held` or `declined`
  // names the number returned. Zero: too many wait, try again after one of these; `fd` stays the app's.
  virtual std::uint64_t hand_over(int fd) = 0;
  // Whether this worker takes connections from others: off at first, and off for good from `retire` on.
  virtual void take_connections(bool wanted) = 0;
  // What the master has not taken yet, messages and connections. Exit when it is zero, or at the deadline.
  virtual std::size_t unsettled() const = 0;

  // Whether a visitor's request is a health check (--idle-ignore). `target`: as it was asked for, undecoded; what
  // follows a question mark is of no account. Since version 2.
  virtual bool is_ignored(const char* method, const char* target) const = 0;

  // The sidecar's door (--sidecar-bind), a listening socket; -1: none. Serve its connections as a visitor's, but: their
  // requests are Caller::sidecar, connections() leaves them out, and on `retire` they are closed, never handed over; a
  // request that is in flight then has a second. Since version 3.
  virtual int sidecar_fd() const = 0;

 protected:
  ~WorkerContext() = default;  // never deleted by the app
};
}  // namespace moult
