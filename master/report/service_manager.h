#pragma once
// Our own duties to the service manager above us (systemd with Type=notify): READY=1 when the first worker serves
// (asleep: when the app is loaded), RELOADING=1 while newer code is on trial, STOPPING=1, EXTEND_TIMEOUT_USEC=,
// STATUS=, and WATCHDOG=1 for as long as the loop turns. Speaks the sd_notify protocol itself. Owned by Instance, on
// the loop's thread; never waits.
#include <sys/socket.h>
#include <sys/un.h>
#include <uv.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "base/uv_handle.h"
#include "master/pool/worker_observer.h"
namespace moult {
struct ServiceManagerSettings {
  std::string notify_socket;         // a path, or "@name" for an abstract one; empty: nobody listens
  std::optional<Duration> watchdog;  // we are shot if silent for so long; none: not watched
};
// Pure. What the environment means for the process `pid`. A watchdog for another pid is none of ours; a malformed
// number is none at all.
ServiceManagerSettings parse_service_manager_settings(const char* notify_socket, const char* watchdog_usec,
                                                      const char* watchdog_pid, pid_t pid);
// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and takes them out of the environment, so that no child thinks
// they are for it. Called once, at start, before there are threads.
ServiceManagerSettings take_service_manager_settings();

// What cannot be sent at once waits here; when it is full the oldest goes: the newest word is what counts.
inline constexpr std::size_t waiting_messages_most = 16;
inline constexpr Duration send_again_after = std::chrono::milliseconds(100);

// What is left to be done when everything is delivered: a farewell to the fleet's store, the last lines of the log. A
// choice, and far more than that takes.
inline constexpr Duration rest_of_a_stop = std::chrono::seconds(5);

class ServiceManager : public WorkerObserver {
 public:
  // Without a notify socket it exists and is silent. Fails when the socket's name cannot be one.
  static Result<std::unique_ptr<ServiceManager>> create(uv_loop_t*, const ServiceManagerSettings&);

  void stopping();                       // called by Instance when a stop begins; only the first counts
  void stop_takes(Duration at_most);     // longer than the manager may be told to wait for: from now on
  void status(const std::string& line);  // for `systemctl status`

  void worker_serving(const Worker&, pid_t) override;
  void pool_settled(const Pool&) override;
  void load_started(Generation) override;
  void generation_proven(Generation) override;
  void generation_rejected(Generation, const std::string&) override;
  void stop_finished(int) override { stopping(); }

 private:
  // starting -> ready       the first worker serves, or the app is loaded and sleeps
  // ready    -> reloading   newer code loads
  // reloading -> ready      it is proven or rejected
  // any      -> stopping    a stop begins
  enum class Said { starting, ready, reloading, stopping };

  ServiceManager(uv_loop_t*, UniqueFd, const sockaddr_un&, socklen_t, std::optional<Duration> watchdog);
  void send(std::string message);
  void send_waiting();
  void say_ready(const std::string& status);

  UniqueFd fd_;  // none: silent
  sockaddr_un to_;
  socklen_t to_size_;
  Said said_ = Said::starting;
  Generation loading_;   // while reloading
  bool serves_ = false;  // as of the pool's last step
  std::deque<std::string> waiting_;
  UvHandle<uv_timer_t> again_, watchdog_;
};
}  // namespace moult
