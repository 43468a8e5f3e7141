#pragma once
// A small file as one text: config and environment files. Blocking; only while moult starts.
#include <string>

#include "base/result.h"
namespace moult {
inline constexpr std::size_t largest_text_file = 1 << 20;  // 1 MiB: more was never written by hand

// The error names the file. A larger one is refused; a pipe is read like a file ("-c <(...)").
Result<std::string> read_text_file(const std::string& path);
}  // namespace moult
