#include "master/launch/supplementary_groups.h"

#include <grp.h>
namespace moult {
std::vector<gid_t> supplementary_groups(const std::string& user_name, gid_t group) {
  std::vector<gid_t> groups{group};
  if (user_name.empty()) return groups;
  int count = 64;
  groups.resize(static_cast<std::size_t>(count));
  if (getgrouplist(user_name.c_str(), group, groups.data(), &count) < 0) {  // more than that: now `count` says how many
    groups.resize(static_cast<std::size_t>(count));
    if (getgrouplist(user_name.c_str(), group, groups.data(), &count) < 0) return {group};
  }
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}
}  // namespace moult
