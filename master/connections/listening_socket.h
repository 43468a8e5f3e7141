#pragma once
// One socket that listens: opened from an address, or received from whoever started us. Move-only; closes when it goes,
// and takes its file out of the file system first if it made one. Made by Listeners (and, for the internal door, by
// InternalDoor); blocking calls, all of them short: used before the loop runs.
#include <sys/types.h>

#include <optional>
#include <string>

#include "base/bind_address.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "master/connections/socket_file.h"
namespace moult {
enum class ListenerFamily { inet, inet6, unix_path };
const char* name(ListenerFamily);  // "inet" "inet6" "unix": the words of docs/fork-protocol.md

struct SocketOptions {
  std::string flag = "-b";  // that named the address, for errors
  int backlog = 2048;
  mode_t unix_mode = 0666;          // where an address names none: what systemd gives, and gunicorn with its umask 0
  std::optional<uid_t> unix_owner;  // those of --user and --group, as gunicorn does it
  std::optional<gid_t> unix_group;
};

class ListeningSocket {
 public:
  // SO_REUSEADDR, IPV6_V6ONLY, non-blocking, close-on-exec. The error says who has the address, when that can be seen.
  static Result<ListeningSocket> open(const TcpAddress&, const SocketOptions&);
  static Result<ListeningSocket> open(const UnixAddress&, const SocketOptions&);
  // Takes over a descriptor that somebody else opened: it must be a stream socket that listens. It is made non-blocking
  // and close-on-exec; a unix path behind it is never unlinked. `what` names it in errors: "fd://3". A descriptor that
  // is refused is left open: it may be anything.
  static Result<ListeningSocket> adopt(int fd, const std::string& what);

  int fd() const { return fd_.get(); }
  const std::string& address() const { return address_; }  // as a person writes it, with the real port
  ListenerFamily family() const { return family_; }

  // Nobody new comes in, whoever has copies of it; who is in can still be accepted. Where somebody else opened it, and
  // may go on listening, nothing is changed. As far as the system allows it: there is nothing to be done about an
  // error.
  void shut();

 private:
  ListeningSocket(UniqueFd fd, std::string address, ListenerFamily family)
      : fd_(std::move(fd)), address_(std::move(address)), family_(family) {}
  UniqueFd fd_;
  std::string address_;
  ListenerFamily family_;
  bool ours_ = true;                // opened here
  std::optional<SocketFile> file_;  // goes before the descriptor: while that is open, nobody can have our inode number
};
}  // namespace moult
