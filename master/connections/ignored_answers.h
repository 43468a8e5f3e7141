#pragma once
// Answers requests for the --idle-ignore paths while nobody serves: looks at what a client said without taking it, and
// takes and answers it if it is plainly such a request. All else stays in the socket, for the worker that will answer.
// Owned by ConnectionKeeper, on the loop's thread; never blocks.
#include <cstdint>
#include <string>
#include <vector>
namespace moult {
class IgnoredAnswers {
 public:
  // `paths`: as the command line has them, each begins with a slash. None: whoever speaks is a caller.
  explicit IgnoredAnswers(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  enum class Heard {
    caller,         // somebody to wake for; also if other requests before it were answered
    part,           // it may become one of ours: to be heard again when more is there
    cut_off,        // it might have, and its client has hung up: there is nobody to answer
    answered,       // and the connection waits for its client again
    answered_last,  // it closes, as its client wants or needs it
  };
  // Of a client that has said something. Answers at most `most_at_once` pipelined requests, so that nobody keeps the
  // loop: more of them are `answered` with something left to hear.
  Heard hear(int connection);
  static constexpr int most_at_once = 16;

  std::uint64_t answered() const { return answered_; }  // requests, since the start

 private:
  const std::vector<std::string> paths_;
  std::uint64_t answered_ = 0;
};
}  // namespace moult
