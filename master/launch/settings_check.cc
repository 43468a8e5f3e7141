#include "master/launch/settings_check.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <variant>
namespace moult {
namespace {
constexpr int settings_number = 3, answer_number = 4;  // in the child
constexpr std::size_t most_answer_bytes = 64 * 1024;   // of a long traceback the rest is not shown

// Killed with what it started, and reaped, when nobody waits for it any more.
class Asked {
 public:
  explicit Asked(pid_t pid) : pid_(pid) {}
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() {
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  }

 private:
  pid_t pid_;
};

// All that is written until the other end is closed.
Result<std::string> answer_from(int fd) {
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + settings_check_patience;
  std::string text;
  while (text.size() < most_answer_bytes) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    pollfd waiting{fd, POLLIN, 0};
    const int readable = left > 0 ? ::poll(&waiting, 1, static_cast<int>(left)) : 0;
    if (readable < 0 && errno == EINTR) continue;
    if (readable < 0) return errno_error("poll", errno);
    if (readable == 0)
      return Error{"it did not answer within " + std::to_string(settings_check_patience.count()) + " s"};
    char piece[4096];
    const ssize_t got = ::read(fd, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("read", errno);
    if (got == 0) break;
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}
}  // namespace

Result<void> check_settings(const std::vector<std::string>& program, const ForkServerSettings& settings,
                            const ChildSettings& child) {
  const auto cannot = [&](const std::string& why) {
    return Error{"cannot ask " + program.front() + " whether its server takes these settings: " + why};
  };
  const auto memory = sealed_memory(write_settings(settings, ::getpid(), answer_number + 1).json);
  if (!memory) return cannot(memory.error().message);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return cannot(errno_error("pipe", errno).message);
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  SpawnRequest request = spawn_request(child);
  request.command = program;
  request.command.insert(request.command.end(), {"--check-settings", "--settings-fd", std::to_string(settings_number),
                                                 "--answer-fd", std::to_string(answer_number)});
  // What a configuration file prints is no part of what we print.
  request.fds = {{STDERR_FILENO, STDOUT_FILENO}, {memory->get(), settings_number}, {theirs.get(), answer_number}};
  const auto outcome = spawn(request);
  if (const auto* failed = std::get_if<Exit>(&outcome)) return cannot(describe(*failed));
  const Asked asked(std::get<Spawned>(outcome).pid);
  theirs.reset();
  const auto answer = answer_from(ours.get());
  if (!answer) return cannot(answer.error().message);
  if (answer->empty()) return cannot("it ended before it answered: is it a Python 3 interpreter?");
  return *answer == "OK" ? Result<void>() : Error{*answer};
}
}  // namespace moult
