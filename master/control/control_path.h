#pragma once
// Where the control socket of an instance is when nobody says otherwise. The master and the clients ask the same
// question here, so that they meet. Pure but for default_control_path(), which looks at the environment and the uid.
#include <sys/types.h>

#include <cstddef>
#include <string>

#include "base/result.h"
namespace moult {
inline constexpr const char* default_instance_name = "moult";

// sockaddr_un holds 108 bytes with the final zero (unix(7)).
inline constexpr std::size_t longest_socket_path_bytes = 107;

struct ControlPlace {
  std::string runtime_dir;  // XDG_RUNTIME_DIR; empty, or not absolute: not used
  uid_t uid;                // the effective one
};

// $XDG_RUNTIME_DIR/moult/NAME.sock, else /run/moult/NAME.sock for root, else /tmp/moult-UID/NAME.sock.
// Refuses a name that is no file name, and a path that no unix socket can have.
Result<std::string> control_path(const std::string& name, const ControlPlace&);
Result<std::string> default_control_path(const std::string& name);

// Empty, or longer than a unix socket's address can hold: refused.
Result<std::string> checked_control_path(const std::string& path);
}  // namespace moult
