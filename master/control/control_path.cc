#include "master/control/control_path.h"

#include <unistd.h>

#include <cstdlib>
namespace moult {
namespace {
std::string folder(const ControlPlace& place) {
  if (!place.runtime_dir.empty() && place.runtime_dir.front() == '/') return place.runtime_dir + "/moult";
  if (place.uid == 0) return "/run/moult";
  return "/tmp/moult-" + std::to_string(place.uid);
}
}  // namespace

Result<std::string> checked_control_path(const std::string& path) {
  if (path.empty()) return Error{"the path of the control socket is empty"};
  if (path.size() > longest_socket_path_bytes)
    return Error{"the path of the control socket has " + std::to_string(path.size()) + " bytes and may have " +
                 std::to_string(longest_socket_path_bytes) + ": choose a shorter one with --control (" + path + ")"};
  return path;
}

Result<std::string> control_path(const std::string& name, const ControlPlace& place) {
  if (name.empty()) return Error{"the name of an instance must not be empty"};
  if (name.find('/') != std::string::npos || name.front() == '.')
    return Error{"the name '" + name + "' cannot name a control socket (no '/', no '.' in front): give --control PATH"};
  return checked_control_path(folder(place) + "/" + name + ".sock");
}

Result<std::string> default_control_path(const std::string& name) {
  const char* runtime_dir = ::getenv("XDG_RUNTIME_DIR");
  return control_path(name, {runtime_dir ? runtime_dir : "", ::geteuid()});
}
}  // namespace moult
