#include "master/report/oom_kills.h"

#include <charconv>
#include <csignal>
#include <fstream>
#include <sstream>
namespace moult {
namespace {
std::optional<std::string> contents(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

template <class Visit>
void each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    visit(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}
}  // namespace

std::optional<std::uint64_t> parse_oom_kills(std::string_view text) {
  constexpr std::string_view key = "oom_kill ";
  std::optional<std::uint64_t> kills;
  each_line(text, [&](std::string_view line) {
    if (!line.starts_with(key)) return;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(line.data() + key.size(), line.data() + line.size(), value);
    if (error == std::errc{} && end == line.data() + line.size()) kills = value;
  });
  return kills;
}

// "0::/a/b" is v2, "9:memory:/a/b" is v1, which wins where both are there: the controller is then bound to v1. In a
// container the path may be one of the host's, that we cannot see: then our own root is what is mounted.
OomKillPlaces oom_kill_places(std::string_view proc_self_cgroup, const std::string& cgroup_root) {
  std::optional<std::string> v1, v2;
  each_line(proc_self_cgroup, [&](std::string_view line) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) return;
    const std::string controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    const std::string path(line.substr(second + 1));
    if (controllers == ",,") v2 = path == "/" ? "" : path;
    if (controllers.find(",memory,") != std::string::npos) v1 = path == "/" ? "" : path;
  });
  if (v1) return {cgroup_root + "/memory" + *v1 + "/memory.oom_control", cgroup_root + "/memory/memory.oom_control"};
  if (v2) return {cgroup_root + *v2 + "/memory.events", cgroup_root + "/memory.events"};
  return {};
}

OomKills::OomKills(const std::string& root) {
  const OomKillPlaces places =
      oom_kill_places(contents(root + "/proc/self/cgroup").value_or(""), root + "/sys/fs/cgroup");
  for (const std::string& each : {places.first, places.second, root + "/proc/vmstat"}) {
    path_ = each;
    seen_ = path_.empty() ? std::nullopt : read();
    if (seen_) return;
  }
  path_.clear();
}

std::optional<std::uint64_t> OomKills::read() const {
  if (path_.empty()) return std::nullopt;
  const auto text = contents(path_);
  return text ? parse_oom_kills(*text) : std::nullopt;
}

void OomKills::look() {
  if (const auto now = read()) seen_ = now;
}

std::optional<bool> OomKills::killed(WorkerState state_before, const Exit& exit) {
  if (exit.signal != SIGKILL || state_before == WorkerState::killed) return false;
  const auto now = read();
  if (!now || !seen_) return std::nullopt;
  if (*now <= *seen_) return false;
  ++*seen_;
  return true;
}
}  // namespace moult
