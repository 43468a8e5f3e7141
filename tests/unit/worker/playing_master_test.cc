#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <filesystem>
#include <stdexcept>

#include "tests/unit/worker/playing_master.h"
#include "worker/fork_protocol.h"
namespace moult::testing_native {
namespace {
constexpr int patience_milliseconds = 10'000;

std::string build_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path().string();
}

std::string settings_json(const ServerPlan& plan) {
  if (!plan.settings.empty()) return plan.settings;
  std::string listeners;
  for (const int fd : plan.listeners)
    listeners += (listeners.empty() ? "" : ",") + (R"({"fd":)" + std::to_string(fd)) +
                 R"(,"address":"127.0.0.1:0","family":"inet"})";
  return R"({"version":1,"master_pid":)" + std::to_string(::getpid()) + R"(,"app":")" + plan.app + R"(","preload":")" +
         plan.preload + R"(","post_fork":null,"worker_class":"auto","server_options":)" + plan.server_options +
         R"(,"listeners":[)" + listeners + R"(],"internal_fd":)" +
         (plan.internal_fd >= 0 ? std::to_string(plan.internal_fd) : "null") + R"(,"sidecar_fd":)" +
         (plan.sidecar_fd >= 0 ? std::to_string(plan.sidecar_fd) : "null") +
         R"(,"keep_alive_seconds":75,"timeout_seconds":30,"threads":null,"idle_ignore":["/healthz"]})";
}

void wait_until_readable(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  if (::poll(&waiting, 1, patience_milliseconds) != 1) throw std::runtime_error("nothing came for ten seconds");
}

void inherit(int fd) { ::fcntl(fd, F_SETFD, 0); }
}  // namespace

std::string fork_server_program() { return build_folder() + "/libexec/moult/moult-native-fork-server"; }
std::string test_app() { return build_folder() + "/tests/native-test-app.so"; }
std::string example_app() { return build_folder() + "/examples/native/libnative-example.so"; }

PlayingServer::PlayingServer(const ServerPlan& plan) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (::access(fork_server_program().c_str(), X_OK) != 0)
    throw std::runtime_error(fork_server_program() + " is not built");
  auto ends = Channel::pair();
  const UniqueFd settings(::memfd_create("settings", 0));
  const std::string json = settings_json(plan);
  if (!ends || ::pwrite(settings.get(), json.data(), json.size(), 0) != static_cast<ssize_t>(json.size()))
    throw std::runtime_error("cannot prepare a fork server");
  pid_ = ::fork();
  if (pid_ == 0) {
    inherit(ends->second.get());
    for (const int fd : plan.listeners) inherit(fd);
    for (const int fd : {plan.internal_fd, plan.sidecar_fd})
      if (fd >= 0) inherit(fd);
    if (plan.in_child) plan.in_child();
    const std::string channel_fd = std::to_string(ends->second.get()), settings_fd = std::to_string(settings.get());
    ::execl(fork_server_program().c_str(), "moult-native-fork-server", "--channel-fd", channel_fd.c_str(),
            "--settings-fd", settings_fd.c_str(), nullptr);
    ::_exit(126);
  }
  channel_.emplace(std::move(ends->first));
  if (next_message(*channel_).find_number<std::uint64_t>("HELLO") != contract_version)
    throw std::runtime_error("the fork server's first message is not HELLO");
}

PlayingServer::~PlayingServer() {
  close_channel();
  if (!reaped_) exit_status();
}

int PlayingServer::exit_status() {
  reaped_ = true;
  return exit_status_of(pid_);
}

int exit_status_of(pid_t pid) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (process) wait_until_readable(process.get());
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) throw std::runtime_error("it is not our child");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

Received next_received(Channel& channel) {
  wait_until_readable(channel.fd());
  Receipt receipt = channel.receive();
  if (auto* received = std::get_if<Received>(&receipt)) return std::move(*received);
  throw std::runtime_error("the channel has ended");
}

Message next_message(Channel& channel) {
  auto received = next_received(channel);
  if (!received.message) throw std::runtime_error(received.message.error().message);
  return *received.message;
}

void await_end(Channel& channel) {
  wait_until_readable(channel.fd());
  if (!std::holds_alternative<EndOfStream>(channel.receive())) throw std::runtime_error("the channel goes on");
}

std::string output_so_far(int fd) {
  std::string text;
  char bytes[4096];
  while (true) {
    wait_until_readable(fd);
    const ssize_t count = ::read(fd, bytes, sizeof bytes);
    if (count <= 0) return text;
    text.append(bytes, static_cast<std::size_t>(count));
  }
}

PlayingWorker PlayingWorker::born(PlayingServer& server, unsigned id, std::optional<unsigned> slot,
                                  std::vector<int> outputs) {
  auto ends = Channel::pair();
  auto scoreboard = ScoreboardMemory::create();
  if (!ends || !scoreboard) throw std::runtime_error("cannot prepare a worker");
  std::vector<int> fds{ends->second.get(), scoreboard->fd()};
  fds.insert(fds.end(), outputs.begin(), outputs.end());
  Message order = Message{}.add("FORK", id);
  if (slot) order.add("SLOT", *slot);
  const auto sent = server.channel().send(order, fds);
  if (!sent || *sent != Sent::sent) throw std::runtime_error("cannot ask for a worker");
  ends->second.reset();
  PlayingWorker worker{std::move(ends->first), *std::move(scoreboard)};
  const Message forked = next_message(server.channel());
  if (!forked.has("FORKED")) throw NotForked(forked);
  const Received hello = next_received(worker.channel);
  if (!hello.message || hello.message->find_number<std::uint64_t>("HELLO") != contract_version || !hello.sender)
    throw std::runtime_error("no HELLO: " + (hello.message ? hello.message->lines().at(0).second : "bad message"));
  worker.pid = hello.sender->pid;
  worker.hello = *hello.message;
  if (forked != Message{}.add("FORKED", id).add("PID", static_cast<std::uint64_t>(worker.pid)))
    throw std::runtime_error("FORKED names another worker or another process than HELLO came from");
  return worker;
}

int PlayingWorker::exit_status() const { return exit_status_of(pid); }

TEST(PlayingMaster, FindsTheProgramsThatItsTestsRun) {
  EXPECT_TRUE(std::filesystem::exists(fork_server_program()));
  EXPECT_TRUE(std::filesystem::exists(test_app()));
  EXPECT_TRUE(std::filesystem::exists(example_app()));
}
}  // namespace moult::testing_native
