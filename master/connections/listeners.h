#pragma once
// The public doors: all sockets on which clients come. Opened by Instance before anything is launched; their
// descriptors go to the launchers (which hand copies to children) and stay the master's until close_all().
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/bind_address.h"
#include "base/result.h"
#include "master/connections/listening_socket.h"
namespace moult {
struct ListenerOptions {
  // In the order of -b. Sockets that systemd passed come first and are always used; a -b for an address that is among
  // them is answered by it.
  std::vector<BindAddress> binds;
  std::optional<BindAddress> sidecar;                        // the sidecar's door; none: there is none
  BindAddress default_bind = TcpAddress{"127.0.0.1", 8000};  // if there is neither a -b nor a passed socket
  SocketOptions socket;
  // How long an address that is in use is asked for again. The workers of a killed master hold it until they have
  // noticed (well under a second, but seconds on a machine that is short of everything), and whoever restarts it is
  // faster than that. gunicorn's five retries, a second each.
  std::chrono::milliseconds patience{5000};
};

// One that is no public door, `options.patience` included.
Result<ListeningSocket> open_listening_socket(const BindAddress&, const ListenerOptions&);

struct ListenerDescription {
  int fd;
  std::string address;  // as a person writes it: 127.0.0.1:8000, [::1]:8000, unix:/run/app.sock
  ListenerFamily family;
};

class Listeners {
 public:
  // All or nothing: what had been opened is closed again. Blocks for at most `patience` for each address.
  static Result<Listeners> open(const ListenerOptions&);

  std::vector<ListenerDescription> describe() const;
  std::vector<int> descriptors() const;
  // At a stop, before what waits in them is accepted: nobody new comes in.
  void shut() {
    for (ListeningSocket& socket : sockets_) socket.shut();
  }
  // The master's copies are closed and our unix paths are gone; those of the workers go with the workers. Again: no
  // effect.
  void close_all() { sockets_.clear(); }

 private:
  explicit Listeners(std::vector<ListeningSocket> sockets) : sockets_(std::move(sockets)) {}
  std::vector<ListeningSocket> sockets_;
};
}  // namespace moult
