#include "master/report/repeated_cause.h"

#include <cctype>
#include <utility>
namespace moult {
// A run of digits is one '#', and so is a hexadecimal number after 0x.
std::string likeness(const std::string& cause) {
  std::string like;
  for (std::size_t i = 0; i < cause.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(cause[i]))) {
      like += cause[i];
      continue;
    }
    const bool hexadecimal = cause[i] == '0' && i + 1 < cause.size() && cause[i + 1] == 'x';
    if (hexadecimal) ++i;
    while (i + 1 < cause.size() && (hexadecimal ? std::isxdigit(static_cast<unsigned char>(cause[i + 1]))
                                                : std::isdigit(static_cast<unsigned char>(cause[i + 1]))))
      ++i;
    like += '#';
  }
  return like;
}

CauseNews heard(RepeatedCause& known, const std::string& cause, MonotonicTime now) {
  std::string like = likeness(cause);
  if (like != known.likeness || now - known.heard_at >= cause_forgotten_after) {
    const std::uint64_t former = known.unsaid;
    known = {std::move(like), 0, 0, now, now};
    return {true, 0, former};
  }
  known.heard_at = now;
  CauseNews news{false, ++known.repeats, 0};
  ++known.unsaid;
  if (now - known.said_at < repeat_said_every) return news;
  known.said_at = now;
  news.more_times = std::exchange(known.unsaid, 0);
  return news;
}

std::uint64_t ended(RepeatedCause& known) { return std::exchange(known, {}).unsaid; }
}  // namespace moult
