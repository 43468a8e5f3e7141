#pragma once
// Where lines go: a descriptor that we were given (stderr), or a file that we opened. Owned by a LineWriter and used on
// its thread alone.
//
// O_NONBLOCK is never set: the file description of stderr is shared with the workers and with whoever started us.
// Instead one write is at most PIPE_BUF long and comes after poll() said that it fits. If another process fills the
// pipe between the two, the writer's thread waits in write(2), and nobody else does.
#include <climits>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
namespace moult {
class Output {
 public:
  // A duplicate is taken, so that a later descriptor with the same number is never written to by mistake. If `fd` is
  // closed, the output exists and each write says EBADF.
  static Output duplicate_of(int fd);
  // Opens with O_APPEND, creates with mode 0640. Fails with the path in the sentence.
  static Result<Output> file(const std::string& path);

  // Opens the path again (log rotation). A failure keeps the old file. Nothing happens for a duplicate.
  Result<void> reopen();
  // A file of ours that has no name any more: what is written to it is lost, though no write says so.
  bool is_deleted() const;

  // Writes at most PIPE_BUF bytes and says how many; zero: try again after a poll. An error names the output.
  Result<std::size_t> write_some(std::string_view);

  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }

 private:
  Output(UniqueFd fd, std::string name, std::string path)
      : fd_(std::move(fd)), name_(std::move(name)), path_(std::move(path)) {}
  UniqueFd fd_;
  std::string name_;  // for people
  std::string path_;  // empty: not ours to open
};
}  // namespace moult
