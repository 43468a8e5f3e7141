#pragma once
// Where the control socket of an instance is when nobody says otherwise. The master and the clients ask the same
// question here, so that they meet. Pure.
#include <sys/types.h>

#include <cstddef>
#include <string>

#include "base/result.h"
namespace moult {
inline constexpr const char* default_instance_name = "moult";

// sockaddr_un holds 108 bytes with the final zero (unix(7)).
inline constexpr std::size_t longest_socket_path_bytes = 107;

struct ControlPlace {
  std::string runtime_dir;  // XDG_RUNTIME_DIR; empty, or not absolute: not used, as its specification says
  uid_t uid;                // the effective one
};

// Empty, or longer than a unix socket's address can hold: refused.
inline Result<std::string> checked_control_path(const std::string& path) {
  if (path.empty()) return Error{"the path of the control socket is empty"};
  if (path.size() > longest_socket_path_bytes)
    return Error{"the path of the control socket has " + std::to_string(path.size()) + " bytes and may have " +
                 std::to_string(longest_socket_path_bytes) + ": choose a shorter one with --control (" + path + ")"};
  return path;
}

// $XDG_RUNTIME_DIR/moult/NAME.sock, else /run/moult/NAME.sock for root, else /tmp/moult-UID/NAME.sock.
// Refuses a name that is no file name, and a path that no unix socket can have.
inline Result<std::string> control_path(const std::string& name, const ControlPlace& place) {
  if (name.empty()) return Error{"the name of an instance must not be empty"};
  if (name.find('/') != std::string::npos || name.front() == '.')
    return Error{"the name '" + name + "' cannot name a control socket (no '/', no '.' in front): give --control PATH"};
  std::string folder = "/tmp/moult-" + std::to_string(place.uid);
  if (place.uid == 0) folder = "/run/moult";
  if (place.runtime_dir.starts_with('/')) folder = place.runtime_dir + "/moult";
  return checked_control_path(folder + "/" + name + ".sock");
}
}  // namespace moult
