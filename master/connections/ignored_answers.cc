#include "master/connections/ignored_answers.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <variant>

#include "master/connections/ignored_request.h"
namespace moult {
namespace {
using Buffer = std::array<char, most_ignored_head_bytes>;

// An answer that the kernel does not take at once and whole is for a client that does not read: its connection ends.
bool give(int connection, const IgnoredRequest& request) {
  Buffer taken;
  if (::recv(connection, taken.data(), request.length, MSG_DONTWAIT) != static_cast<ssize_t>(request.length))
    return false;
  const std::string answer = answer_to(request);
  return ::send(connection, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(answer.size());
}
bool says_no_more(int connection) {
  pollfd asked{connection, POLLRDHUP, 0};
  return ::poll(&asked, 1, 0) > 0;
}
}  // namespace

IgnoredAnswers::Heard IgnoredAnswers::hear(int connection) {
  if (paths_.empty()) return Heard::caller;
  bool all_is_said = false;
  for (int i = 0; i < most_at_once; ++i) {
    Buffer said;
    const ssize_t count = ::recv(connection, said.data(), said.size(), MSG_PEEK | MSG_DONTWAIT);
    if (count <= 0) return i > 0 ? Heard::answered : Heard::caller;  // its end, if it is that, is heard next
    const auto heard = read_ignored_request(std::string_view(said.data(), static_cast<std::size_t>(count)), paths_);
    if (std::holds_alternative<CallersRequest>(heard)) return Heard::caller;
    if (std::holds_alternative<PartOfARequest>(heard)) {
      if (all_is_said) return Heard::cut_off;
      all_is_said = says_no_more(connection);
      if (!all_is_said) return Heard::part;
      continue;  // the rest may have come before the end
    }
    const IgnoredRequest& request = std::get<IgnoredRequest>(heard);
    if (!give(connection, request)) return Heard::answered_last;
    ++answered_;
    if (!request.keeps_alive) return Heard::answered_last;
  }
  return Heard::answered;
}
}  // namespace moult
