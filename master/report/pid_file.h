#pragma once
// -p/--pid FILE: the master's pid, for scripts. Owned by Instance; taken away when it goes, but only if it still names
// us.
#include <sys/types.h>

#include <string>

#include "base/result.h"
namespace moult {
class PidFile {
 public:
  // Appears at once and whole, with mode 0644. Refused with its pid when another process that lives is named there; one
  // that names nobody, or nonsense, is replaced. The directory must exist.
  static Result<PidFile> create(const std::string& path);

  PidFile(PidFile&& other) noexcept;
  PidFile& operator=(PidFile&& other) noexcept;
  ~PidFile();

 private:
  explicit PidFile(std::string path) : path_(std::move(path)) {}
  void remove();
  std::string path_;  // empty: moved from
};
}  // namespace moult
