#pragma once
// One admin HTTP server: --admin (all paths) or --health-bind (health paths). Made and destroyed by Instance on the
// loop's thread; its own threads see the SnapshotBoard and nothing else. Transport only: what is said is
// admin_answer.h.
//
// Bounded: admin_threads threads, request_bytes_most a request, client_patience for one that is slow; a connection has
// one answer, and all together get requests_per_second of them (not the health paths, which cost nothing). A connection
// that says nothing holds a thread for client_patience: whoever holds N of them makes others
// wait for N / admin_threads times that. With 50 a health check is answered within a second. civetweb offers much more
// (files, CGI, uploads); no request comes that far, since each is answered before civetweb looks at its path.
#include <memory>
#include <string>

#include "base/result.h"
#include "master/report/admin_answer.h"
#include "master/report/snapshot.h"
#include "master/report/status_events.h"
namespace moult {
// Beside the one that accepts and one for each viewer. Measured: 32 that have all answered cost 1.5 MB.
inline constexpr unsigned admin_threads = 32;
inline constexpr unsigned waiting_connections_most = 128;
inline constexpr unsigned request_bytes_most = 8192;
// Choices: a scraper asks some times a minute, a page at most once in two seconds.
inline constexpr double requests_per_second = 100, request_burst = 200;
inline constexpr Duration client_patience = std::chrono::milliseconds(500);
// How long our exit waits for clients in the middle of an answer; then the threads die with the process.
inline constexpr Duration admin_farewell = std::chrono::milliseconds(500);

struct AdminServerOptions {
  std::string host;  // an IPv4 or IPv6 address (in brackets or not), or "localhost", which is 127.0.0.1
  unsigned port;     // zero: any that is free
  std::string flag;  // "--admin": who asked for it, for the error
  AdminRules rules;
};

class AdminServer {
 public:
  // Listens when it returns. Fails with one sentence that names the address.
  static Result<std::unique_ptr<AdminServer>> start(const AdminServerOptions&, std::shared_ptr<const SnapshotBoard>);
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  unsigned port() const;  // the real one

 private:
  struct Shared;
  explicit AdminServer(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<Shared> shared_;  // also the farewell's, which may outlive us
};
}  // namespace moult
