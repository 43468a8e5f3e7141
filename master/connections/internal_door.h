#pragma once
// The internal door: one unix listener an instance, through which the master itself calls the app (scheduled calls).
// Whoever comes through it is trusted, so nobody else may reach it: the socket is bound with mode 0600 in a folder of
// mode 0700, and file and folder are removed again before anything is launched. The master keeps an O_PATH descriptor
// of the file and reaches it as /proc/self/fd/N, a name that means something in the master alone. So nothing is left
// behind, whatever kills us (but for the microseconds between bind and unlink).
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
namespace moult {
class InternalDoor {
 public:
  // `folder` is where the master keeps its own things (that of the control socket); where it cannot be written in,
  // /dev/shm and the temporary folder are tried.
  static Result<InternalDoor> open(const std::string& folder);

  int fd() const { return listener_.get(); }  // for the children
  std::string path() const;                   // to connect() to, in this process only
  void close() { listener_.reset(); }

 private:
  InternalDoor(UniqueFd listener, UniqueFd file) : listener_(std::move(listener)), file_(std::move(file)) {}
  UniqueFd listener_;
  UniqueFd file_;
};
}  // namespace moult
