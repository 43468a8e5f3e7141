#pragma once
// What the tests of this room share: a folder that goes away again, and the ends of a pipe.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "master/pool/exit.h"
namespace moult::testing {
// Far above what anything here takes, far below what blocking for ever takes.
inline constexpr std::chrono::seconds generous(30);

class TempDir {
 public:
  TempDir() {
    std::string name = std::filesystem::temp_directory_path() / "moult-report-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reads.reset(ends[0]);
    writes.reset(ends[1]);
  }
  // Everything until all writers are gone.
  std::string drain() {
    writes.reset();
    std::string text;
    char part[65536];
    for (ssize_t size; (size = ::read(reads.get(), part, sizeof part)) > 0;)
      text.append(part, static_cast<std::size_t>(size));
    return text;
  }
  UniqueFd reads, writes;
};

inline Exit exited(int status, const std::string& cause = "") {
  Exit exit;
  exit.pid = 71;
  exit.status = status;
  exit.cause = cause;
  return exit;
}
inline Exit killed_by(int signal_number) {
  Exit exit;
  exit.pid = 71;
  exit.signal = signal_number;
  return exit;
}

// Asks until it is so, or a generous time has passed.
template <class Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + generous;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::usleep(1000);
  }
  return true;
}
}  // namespace moult::testing
