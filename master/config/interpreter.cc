#include "master/config/interpreter.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "master/config/in_quotes.h"
namespace moult {
namespace {
namespace fs = std::filesystem;
constexpr const char* path_without_one = "/usr/local/bin:/usr/bin:/bin";

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

// The next folder of a PATH, which loses it.
std::string_view take_folder(std::string_view& path) {
  const std::string_view folder = path.substr(0, path.find(':'));
  path.remove_prefix(std::min(folder.size() + 1, path.size()));
  return folder;
}

Result<void> check_file(const std::string& program, const std::string& folder) {
  const fs::path place = (fs::path(folder) / program).lexically_normal();
  std::error_code error;
  if (fs::is_directory(place, error)) return Error{in_quotes(place.string()) + " is a folder, no program"};
  if (access(place.c_str(), X_OK) != 0) return errno_error("cannot run " + in_quotes(place.string()), errno);
  return {};
}
}  // namespace

Result<std::string> find_interpreter(const std::string& python, const std::string& folder,
                                     const Environment& environment) {
  std::error_code error;
  const fs::path place = (fs::path(folder) / python).lexically_normal();
  if (python.find('/') != std::string::npos || fs::is_directory(place, error)) {
    const fs::path program = fs::is_directory(place, error) ? place / "bin/python" : place;
    if (is_program(program)) return program.string();
    return Error{"there is no interpreter " + program.string()};
  }
  const auto path = environment.find("PATH");
  std::string_view rest = path == environment.end() ? path_without_one : std::string_view(path->second);
  while (!rest.empty()) {
    const fs::path program = fs::path(folder) / take_folder(rest) / python;
    if (is_program(program)) return program.lexically_normal().string();
  }
  return Error{"there is no program " + in_quotes(python) + " in PATH"};
}

Result<void> check_program(const std::string& program, const std::string& folder, const std::string* path) {
  if (program.find('/') != std::string::npos) return check_file(program, folder);
  std::string_view rest = path ? std::string_view(*path) : path_without_one;
  while (!rest.empty()) {
    const std::string_view place = take_folder(rest);
    if (place.starts_with('/') && is_program(fs::path(place) / program)) return {};
  }
  return Error{"there is no program " + in_quotes(program) + " in PATH"};
}
}  // namespace moult
