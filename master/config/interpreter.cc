#include "master/config/interpreter.h"

#include <unistd.h>

#include <filesystem>

#include "master/config/in_quotes.h"
namespace moult {
namespace {
namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
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
  std::string_view rest = path == environment.end() ? "/usr/local/bin:/usr/bin:/bin" : std::string_view(path->second);
  while (!rest.empty()) {
    const auto end = std::min(rest.find(':'), rest.size());
    const fs::path program = fs::path(folder) / rest.substr(0, end) / python;
    if (is_program(program)) return program.lexically_normal().string();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return Error{"there is no program " + in_quotes(python) + " in PATH"};
}
}  // namespace moult
