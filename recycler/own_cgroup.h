#pragma once
// Which memory cgroup this process lives in, from /proc/self/cgroup and /proc/self/mountinfo. Pure.
#include <string>
#include <string_view>
#include <vector>
namespace moult {
enum class CgroupVersion { none, v1, v2 };
struct OwnCgroup {
  CgroupVersion version = CgroupVersion::none;  // none: no memory controller is mounted here
  std::string mount_point;
  std::string path;  // below it, "" for the mount point itself, else beginning with "/"
};
// A container sees its own cgroup as the root of the mount: its path is then told from outside, and is cut accordingly.
OwnCgroup own_cgroup(std::string_view proc_self_cgroup, std::string_view proc_self_mountinfo);

// Its folder, then its parents' up to the mount point: a limit of any of them binds.
std::vector<std::string> levels(const OwnCgroup&);
}  // namespace moult
