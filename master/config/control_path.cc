#include "master/config/control_path.h"
namespace moult {
std::string default_control_path(const std::string& name, const Environment& environment, uid_t uid) {
  const auto runtime = environment.find("XDG_RUNTIME_DIR");
  // The XDG base directory specification says to ignore a relative one.
  if (runtime != environment.end() && runtime->second.starts_with('/'))
    return runtime->second + "/moult/" + name + ".sock";
  if (uid == 0) return "/run/moult/" + name + ".sock";
  return "/tmp/moult-" + std::to_string(uid) + "/" + name + ".sock";
}
}  // namespace moult
