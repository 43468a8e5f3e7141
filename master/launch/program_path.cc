#include "master/launch/program_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
namespace moult {
namespace {
constexpr std::string_view path_without_one = "/usr/local/bin:/usr/bin:/bin";

std::string_view path_of(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment)
    if (entry.starts_with("PATH=")) return std::string_view(entry).substr(5);
  return path_without_one;
}
}  // namespace

Result<std::string> find_program(const std::string& command, const std::vector<std::string>& environment) {
  if (command.find('/') != std::string::npos) return command;
  int error = ENOENT;
  std::string_view rest = path_of(environment);
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (!folder.starts_with('/')) continue;
    std::string candidate = std::string(folder) + "/" + command;
    struct stat found {};
    if (::stat(candidate.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    error = EACCES;
  }
  return errno_error("cannot find " + command + " on PATH", error);
}
}  // namespace moult
