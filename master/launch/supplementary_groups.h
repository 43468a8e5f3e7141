#pragma once
// The groups that a user is in, looked up in the system's tables: blocks, so only while moult starts.
#include <sys/types.h>

#include <string>
#include <vector>
namespace moult {
// `group` is among them, and alone if the user has no name: it runs with no group that nobody gave it.
std::vector<gid_t> supplementary_groups(const std::string& user_name, gid_t group);
}  // namespace moult
