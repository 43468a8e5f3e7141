#include "recycler/instance_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "recycler/instance_memory_files.h"
#include "recycler/policy.h"
namespace moult {
namespace {
// Without CAP_SYS_RESOURCE the window must be a multiple of 2 s. 100 ms of stall in it is no noise any more.
constexpr std::string_view pressure_trigger = "some 100000 2000000";

struct Files {
  std::vector<const char*> limits;
  const char* usage;
  const char* inactive;  // in memory.stat; with the cgroup's children
};
// Above memory.high the kernel stalls instead of killing: to a client that is no better.
const Files& files(CgroupVersion version) {
  static const Files v1{{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file"};
  static const Files v2{{"memory.max", "memory.high"}, "memory.current", "inactive_file"};
  return version == CgroupVersion::v1 ? v1 : v2;
}

Result<std::uint64_t> limit_of(const std::string& folder, CgroupVersion version, bool own) {
  std::uint64_t least = no_limit;
  for (const char* file : files(version).limits) {
    const Result<std::uint64_t> limit = read_limit(folder, file);
    if (!limit) return limit.error();
    least = std::min(least, *limit);
  }
  if (version != CgroupVersion::v1 || !own) return least;
  // v1 also tells of limits around a container, whose folders it cannot see.
  const Result<std::uint64_t> around = read_field(folder + "/memory.stat", "hierarchical_memory_limit");
  return around ? std::min(least, no_limit_if_huge(*around)) : least;
}

Result<std::uint64_t> working_set(const std::string& folder, CgroupVersion version) {
  const Result<std::uint64_t> used = read_number(folder + "/" + files(version).usage);
  if (!used) return used.error();
  const Result<std::uint64_t> inactive = read_field(folder + "/memory.stat", files(version).inactive);
  if (!inactive) return inactive.error();
  return *used > *inactive ? *used - *inactive : 0;
}

Result<MemoryLook> look_at_host(const std::string& root) {
  const std::string path = root + "/proc/meminfo";
  const Result<std::uint64_t> total = read_field(path, "MemTotal:"), available = read_field(path, "MemAvailable:");
  if (!total) return total.error();
  if (!available) return available.error();
  return MemoryLook{*total * 1024, *available * 1024, "host"};
}
}  // namespace

InstanceMemory::InstanceMemory(std::string root) : root_(std::move(root)) {
  const auto cgroup = read_small_file(root_ + "/proc/self/cgroup");
  const auto mounts = read_small_file(root_ + "/proc/self/mountinfo");
  if (!cgroup || !mounts) return;  // no cgroups: the host it is
  const OwnCgroup own = own_cgroup(*cgroup, *mounts);
  version_ = own.version;
  for (const std::string& level : levels(own)) levels_.push_back(root_ + level);
}

Result<MemoryLook> InstanceMemory::look() const {
  std::optional<MemoryLook> tightest;
  for (const std::string& folder : levels_) {
    const Result<std::uint64_t> limit = limit_of(folder, version_, folder == levels_.front());
    if (!limit) return limit.error();
    if (*limit == no_limit) continue;
    const Result<std::uint64_t> used = working_set(folder, version_);
    if (!used) return used.error();
    const std::uint64_t headroom = *limit > *used ? *limit - *used : 0;
    if (!tightest || headroom < tightest->headroom_bytes)
      tightest = MemoryLook{*limit, headroom, folder.substr(root_.size())};
  }
  return tightest ? Result<MemoryLook>(*std::move(tightest)) : look_at_host(root_);
}

Result<std::uint64_t> InstanceMemory::oom_kills() const {
  if (!levels_.empty()) {
    const char* file = version_ == CgroupVersion::v1 ? "/memory.oom_control" : "/memory.events";
    if (const auto kills = read_field(levels_.front() + file, "oom_kill")) return *kills;
  }
  return read_field(root_ + "/proc/vmstat", "oom_kill");
}

std::vector<std::string> InstanceMemory::oom_groups() const {
  std::vector<std::string> groups;
  for (const std::string& folder : levels_)
    if (const auto whole = read_number(folder + "/memory.oom.group"); whole && *whole == 1)
      groups.push_back(folder.substr(root_.size()));
  return groups;
}

Result<UniqueFd> InstanceMemory::arm_pressure() const {
  std::string path = levels_.empty() ? "" : levels_.front() + "/memory.pressure";
  if (path.empty() || ::access(path.c_str(), F_OK) != 0) path = root_ + "/proc/pressure/memory";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return errno_error("cannot open " + path, errno);
  if (::write(fd.get(), pressure_trigger.data(), pressure_trigger.size() + 1) < 0)
    return errno_error("cannot arm " + path, errno);
  return fd;
}
}  // namespace moult
