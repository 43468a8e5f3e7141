#include "recycler/own_cgroup.h"

#include <algorithm>
#include <optional>
namespace moult {
namespace {
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(separator));
    parts.push_back(part);
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return parts;
}

bool has_memory(std::string_view comma_separated) {
  const auto parts = split(comma_separated, ',');
  return std::ranges::find(parts, "memory") != parts.end();
}

// "4:memory:/path" (v1) or "0::/path" (v2).
std::optional<std::string_view> path_in(std::string_view proc_self_cgroup, CgroupVersion version) {
  for (const std::string_view line : split(proc_self_cgroup, '\n')) {
    const auto first = line.find(':');
    if (first == line.npos) continue;
    const auto second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool ours = version == CgroupVersion::v1 ? has_memory(controllers) : line.starts_with("0::");
    if (ours) return line.substr(second + 1);
  }
  return std::nullopt;
}

struct Mount {
  std::string_view root, point;
};
// "id parent major:minor root point options [optional...] - type source superoptions"
std::optional<Mount> mount_in(std::string_view mountinfo, CgroupVersion version) {
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto dash = line.find(" - ");
    if (dash == line.npos) continue;
    const auto before = split(line.substr(0, dash), ' '), after = split(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    const bool ours =
        version == CgroupVersion::v1 ? after[0] == "cgroup" && has_memory(after[2]) : after[0] == "cgroup2";
    if (ours) return Mount{before[3], before[4]};
  }
  return std::nullopt;
}

std::string below(std::string_view path, std::string_view root) {
  if (root == "/") root = "";
  const bool under = path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
  if (!under) return "";
  path.remove_prefix(root.size());
  if (path == "/" || path.starts_with("/..")) return "";
  return std::string(path);
}
}  // namespace

OwnCgroup own_cgroup(std::string_view proc_self_cgroup, std::string_view proc_self_mountinfo) {
  for (const CgroupVersion version : {CgroupVersion::v1, CgroupVersion::v2}) {
    const auto path = path_in(proc_self_cgroup, version);
    const auto mount = mount_in(proc_self_mountinfo, version);
    if (path && mount) return {version, std::string(mount->point), below(*path, mount->root)};
  }
  return {};
}

std::vector<std::string> levels(const OwnCgroup& cgroup) {
  std::vector<std::string> all;
  if (cgroup.version == CgroupVersion::none) return all;
  for (std::string path = cgroup.path; !path.empty(); path.resize(path.rfind('/')))
    all.push_back(cgroup.mount_point + path);
  all.push_back(cgroup.mount_point);
  return all;
}
}  // namespace moult
