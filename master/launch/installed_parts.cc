#include "master/launch/installed_parts.h"

#include <filesystem>
#include <system_error>
namespace moult {
Result<InstalledParts> InstalledParts::find() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Error{"cannot find moult's own program: " + error.message(), error.value()};
  const std::filesystem::path prefix = program.parent_path().parent_path();
  const InstalledParts parts{prefix / "libexec/moult/moult-native-fork-server", prefix / "share/moult/python/moult"};
  for (const std::string& each : {parts.native_fork_server, parts.python_package})
    if (!std::filesystem::exists(each, error))
      return Error{each + " is missing: moult was not installed whole; install it again (cmake --install)"};
  return parts;
}
}  // namespace moult
