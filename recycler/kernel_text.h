#pragma once
// Numbers in the small text files of the kernel: /proc and cgroups. Pure.
#include <cstdint>
#include <optional>
#include <string_view>
namespace moult {
// The number after `key` at the beginning of a line: "oom_kill 3", "MemTotal:   24683656 kB". None: no such line, or no
// number there.
std::optional<std::uint64_t> number_of(std::string_view text, std::string_view key);
std::optional<std::uint64_t> to_number(std::string_view);  // digits, then white space at most
}  // namespace moult
