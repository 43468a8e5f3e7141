#include "master/launch/environment.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "base/unique_fd.h"
namespace moult {
namespace {
constexpr std::array<std::string_view, 4> meant_for_moult{"MOULT_", "LISTEN_", "WATCHDOG_", "NOTIFY_SOCKET="};
constexpr std::size_t largest_file_bytes = 1024 * 1024;  // the kernel takes no larger environment
constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string_view unquoted(std::string_view value) {
  const bool quoted =
      value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front();
  return quoted ? value.substr(1, value.size() - 2) : value;
}
}  // namespace

Result<EnvironmentEntry> parse_environment_entry(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = trimmed(text.substr(0, equals));
  if (equals == text.npos || name.empty())
    return Error{"\"" + std::string(text) + "\" is no KEY=VALUE for the environment"};
  if (name.find_first_of(blanks) != name.npos || text.find('\0') != text.npos)
    return Error{"\"" + std::string(name) + "\" is no name for an environment variable"};
  return EnvironmentEntry(name, text.substr(equals + 1));
}

Result<std::vector<EnvironmentEntry>> parse_environment_file(std::string_view text) {
  std::vector<EnvironmentEntry> entries;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with("export ")) line.remove_prefix(sizeof "export " - 1);
    auto entry = parse_environment_entry(line);
    if (!entry) return Error{"line " + std::to_string(number) + ": " + entry.error().message};
    entries.emplace_back(entry->first, unquoted(trimmed(entry->second)));
  }
  return entries;
}

Result<std::vector<EnvironmentEntry>> read_environment_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto cannot = [&] { return errno_error("cannot read the environment file " + path, errno); };
  if (!file) return cannot();
  std::string text;
  std::array<char, 4096> buffer;
  while (const ssize_t length = ::read(file.get(), buffer.data(), buffer.size())) {
    if (length < 0) return cannot();
    if (text.size() > largest_file_bytes) return Error{"the environment file " + path + " is larger than 1 MiB"};
    text.append(buffer.data(), static_cast<std::size_t>(length));
  }
  auto entries = parse_environment_file(text);
  if (!entries) return Error{path + ", " + entries.error().message};
  return entries;
}

std::vector<std::string> child_environment(const char* const* parent, const std::vector<EnvironmentEntry>& added) {
  std::map<std::string, std::string, std::less<>> all;
  for (; *parent != nullptr; ++parent) {
    const std::string_view entry(*parent);
    const bool ours = std::ranges::any_of(meant_for_moult, [&](auto start) { return entry.starts_with(start); });
    const std::size_t equals = entry.find('=');
    if (!ours && equals != entry.npos) all[std::string(entry.substr(0, equals))] = entry.substr(equals + 1);
  }
  for (const auto& [name, value] : added) all[name] = value;
  std::vector<std::string> environment;
  for (const auto& [name, value] : all) environment.push_back(name + "=" + value);
  return environment;
}
}  // namespace moult
