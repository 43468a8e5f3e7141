#include "master/launch/installed_tools.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "master/launch/installed_parts.h"
namespace moult {
namespace {
constexpr std::array<std::string_view, 2> tools = {"doctor", "correlate"};
}

bool is_tool(const std::string& name) { return std::find(tools.begin(), tools.end(), name) != tools.end(); }

Error execute_tool(const std::string& name, const std::vector<std::string>& arguments) {
  const auto path = InstalledParts::program("moult-" + name);
  if (!path) return path.error();
  std::vector<std::string> words = {*path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(path->c_str(), argv.data());
  return errno_error("cannot run " + *path, errno);
}
}  // namespace moult
