#pragma once
// What a gate tells of its store when something about it changes, for the log. A plain value.
#include <string>
namespace moult {
struct StoreNews {
  enum class Kind {
    joined,         // its first answer ever
    answers_again,  // after one of these:
    silent,         // it cannot be reached, or does not answer
    refuses         // it answers, and says no: READONLY, NOPERM, WRONGTYPE, ...
  };
  Kind kind;
  std::string why;  // of silent and refuses: one sentence without secrets
};
}  // namespace moult
