// The fork server of native apps: loads a shared object once and forks workers from itself (fork_protocol.h).
// Executed by the master as: moult-native-fork-server --channel-fd N --settings-fd M. Exits when the master closes the
// channel or dies.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <string_view>

#include "worker/channel.h"
#include "worker/fork_protocol.h"
#include "worker/fork_worker.h"
#include "worker/native_app.h"
#include "worker/native_settings.h"
#include "worker/preload_check.h"
namespace moult {
namespace {
// The master reads its channels in every turn of its loop. One that takes nothing for this long is not there any more.
constexpr int most_send_attempts = 300;
constexpr timespec between_send_attempts{0, 100'000'000};  // 0.1 s: 30 s in all

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "moult-native-fork-server: %s\n", why.c_str());
  std::fflush(nullptr);
  ::_exit(1);
}

void say(Channel& channel, const Message& message) {
  for (int attempt = 0; attempt < most_send_attempts; ++attempt) {
    const auto outcome = channel.send(message);
    if (!outcome) give_up(outcome.error().message);
    if (*outcome == Sent::sent) return;
    if (*outcome == Sent::peer_gone) ::_exit(0);
    ::nanosleep(&between_send_attempts, nullptr);
  }
  give_up("the master does not read its channel");
}

[[noreturn]] void load_failed(Channel& channel, const Error& cause) {
  say(channel, {{"LOAD_FAILED", "1"}, {"ERROR", escape(cause.message)}});
  std::fflush(nullptr);
  ::_exit(1);
}

void close_on_exec(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

// A terminal's Ctrl-C, Ctrl-\ and hang-up go to the whole foreground group: what they mean is the master's to say.
void leave_terminal_signals_to_the_master() {
  for (const int number : {SIGINT, SIGQUIT, SIGHUP}) ::signal(number, SIG_IGN);
}

void die_with_the_master(pid_t master) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up("cannot ask for a signal at the master's death");
  if (::getppid() != master) ::_exit(0);
}

// The master shows them as the cause of a failed boot. The result is the exit status.
int last_words(Channel& channel, const Error& cause) {
  [[maybe_unused]] const auto sent = channel.send({{"ERROR", escape(cause.message)}});
  return 1;
}

// While it is parked an app hears of no signal: the master's end it at once, and a log needs no new file.
bool park(ForkedWorker& worker) {
  constexpr int ends[] = {SIGTERM, SIGINT, SIGQUIT};
  struct sigaction leave {
  }, ignore{}, before[NSIG]{};
  leave.sa_handler = [](int) { ::_exit(0); };
  ignore.sa_handler = SIG_IGN;
  for (const int number : ends) ::sigaction(number, &leave, &before[number]);
  ::sigaction(SIGUSR1, &ignore, &before[SIGUSR1]);
  const bool goes = worker.park();
  for (const int number : ends) ::sigaction(number, &before[number], nullptr);
  ::sigaction(SIGUSR1, &before[SIGUSR1], nullptr);
  return goes;
}

// What a worker is from HELLO to its exit status.
int worker_life(Channel channel, UniqueFd scoreboard_fd, const NativeSettings& settings,
                const std::optional<NativeApp>& preloaded, unsigned slot) {
  auto scoreboard = ScoreboardMemory::open(std::move(scoreboard_fd));
  if (!scoreboard) return last_words(channel, scoreboard.error());
  const auto app = preloaded ? Result<NativeApp>(*preloaded) : NativeApp::load(settings.app);
  if (!app) return last_words(channel, app.error());
  // Never destroyed: the app's own exit handlers may still use it.
  static auto* const worker = new ForkedWorker(std::move(channel), *std::move(scoreboard), settings.worker, slot);
  const auto started = app->start(*worker);
  if (!started) return last_words(worker->channel(), started.error());
  if (*started != 0) return *started;
  if (slot == no_slot && !park(*worker)) return 0;
  const auto status = app->run(*worker);
  return status ? *status : last_words(worker->channel(), status.error());
}

class ForkServer {
 public:
  ForkServer(Channel channel, NativeSettings settings) : channel_(std::move(channel)), settings_(std::move(settings)) {}

  void load() {
    std::string warning;
    if (settings_.preload != NativeSettings::Preload::off) {
      auto app = NativeApp::load(settings_.app);
      if (!app) load_failed(channel_, app.error());
      app_.emplace(*std::move(app));
      warning = unforkable(channel_.fd());
      if (settings_.preload == NativeSettings::Preload::strict && !warning.empty())
        load_failed(channel_, {warning + "\n(--preload strict refuses this)"});
    }
    Message loaded{{"LOADED", "1"}, {"SERVER", "native"}};
    if (!warning.empty()) loaded.add("WARNING", escape(warning));
    say(channel_, loaded);
  }

  [[noreturn]] void serve() {
    while (true) {
      Receipt receipt = channel_.receive();
      if (auto* received = std::get_if<Received>(&receipt)) {
        obey(*received);
      } else if (std::holds_alternative<NothingNow>(receipt)) {
        pollfd waiting{channel_.fd(), POLLIN, 0};
        ::poll(&waiting, 1, -1);
      } else if (std::holds_alternative<EndOfStream>(receipt)) {
        ::_exit(0);
      } else {
        give_up(std::get<Error>(receipt).message);
      }
    }
  }

 private:
  // EXITED= is for servers with a hook; what is unknown comes from a newer master.
  void obey(Received& received) {
    if (!received.message) give_up(received.message.error().message);
    const auto worker = received.message->find_number<std::uint64_t>("FORK");
    if (!worker) return;
    if (const auto failure = fork(received, *worker))
      say(channel_, Message{}
                        .add("FORK_FAILED", *worker)
                        .add("STAGE", failure->stage)
                        .add("ERRNO", static_cast<std::uint64_t>(failure->error)));
  }

  std::optional<BirthFailure> fork(Received& received, std::uint64_t worker) {
    auto& fds = received.fds;
    if (received.fds_lost) return BirthFailure{"recvmsg", EMFILE};
    if (fds.size() != 2 && fds.size() != 4) return BirthFailure{"recvmsg", EINVAL};
    const WorkerBirth birth{.master_pid = settings_.master_pid,
                            .channel_fd = fds[0].get(),
                            .stdout_fd = fds.size() == 4 ? fds[2].get() : -1,
                            .stderr_fd = fds.size() == 4 ? fds[3].get() : -1,
                            .fork_server_channel_fd = channel_.fd()};
    const unsigned slot = received.message->find_number<unsigned>("SLOT").value_or(no_slot);
    const auto born = [&](pid_t pid) {
      say(channel_, Message{}.add("FORKED", worker).add("PID", static_cast<std::uint64_t>(pid)));
    };
    return fork_worker(birth, born, [&] {
      if (fds.size() == 4) fds.resize(2);  // they are stdout and stderr now
      return worker_life(Channel(std::move(fds[0])), std::move(fds[1]), settings_, app_, slot);
    });
  }

  Channel channel_;
  NativeSettings settings_;
  std::optional<NativeApp> app_;  // none: each worker loads it
};

// The number after `name`, or -1.
int fd_argument(int count, char** arguments, std::string_view name) {
  for (int i = 1; i + 1 < count; ++i)
    if (arguments[i] == name) {
      const std::string_view text(arguments[i + 1]);
      int fd = -1;
      const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), fd);
      return problem == std::errc() && end == text.data() + text.size() ? fd : -1;
    }
  return -1;
}
}  // namespace
}  // namespace moult

int main(int count, char** arguments) {
  using namespace moult;
  const int channel_fd = fd_argument(count, arguments, "--channel-fd");
  const int settings_fd = fd_argument(count, arguments, "--settings-fd");
  if (channel_fd < 0 || settings_fd < 0) {
    std::fprintf(
        stderr,
        "usage: %s --channel-fd N --settings-fd M\nmoult starts this program: moult run --app native:./libapp.so\n",
        arguments[0]);
    return 2;
  }
  leave_terminal_signals_to_the_master();
  Channel channel{UniqueFd(channel_fd)};
  close_on_exec(channel_fd);
  say(channel, Message{}.add("HELLO", contract_version));
  auto settings = read_native_settings(settings_fd);
  ::close(settings_fd);
  if (!settings) load_failed(channel, settings.error());
  die_with_the_master(settings->master_pid);
  for (const auto& listener : settings->worker.listeners) close_on_exec(listener.fd);
  if (settings->worker.internal_fd >= 0) close_on_exec(settings->worker.internal_fd);
  ForkServer server(std::move(channel), *std::move(settings));
  server.load();
  server.serve();
}
