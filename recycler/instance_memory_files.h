#pragma once
// The small files that tell of an instance's memory, read whole. Errors name the file. For instance_memory alone.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
namespace moult {
Result<std::string> read_small_file(const std::string& path);  // what is longer than 64 KiB is cut there
Result<std::uint64_t> read_number(const std::string& path);    // nothing else is in it
Result<std::uint64_t> read_field(const std::string& path, std::string_view key);
// v1 says "none" with the largest whole page below 2^63. Nobody has four exbibytes: no_limit.
std::uint64_t no_limit_if_huge(std::uint64_t limit_bytes);
// "max" or a number: no_limit where there is none. A file that is not there limits nothing as long as its folder is
// there; the root of cgroup v2 has none.
Result<std::uint64_t> read_limit(const std::string& folder, const char* file);
}  // namespace moult
