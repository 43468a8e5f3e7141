#include "master/launch/exec_launcher.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>

#include <algorithm>
#include <chrono>
#include <utility>

#include "master/launch/launch_failure.h"
#include "master/launch/open_files.h"
namespace moult {
namespace {
constexpr int first_listener_number = 3;  // SD_LISTEN_FDS_START

// A colon separates names in LISTEN_FDNAMES.
std::string names_of(const std::vector<InheritedListener>& listeners) {
  std::string names;
  for (const InheritedListener& listener : listeners) {
    std::string name = listener.address;
    std::ranges::replace_if(
        name, [](unsigned char c) { return c <= ' ' || c >= 127 || c == ':'; }, '-');
    names += (names.empty() ? "" : ":") + name;
  }
  return names;
}

SpawnRequest request_for(const ExecOptions& options, const std::string& notify_address) {
  SpawnRequest request = spawn_request(options.child);
  request.command = options.command;
  request.oom_score_adj = oom_score_adj_above_ours(worker_oom_score_above_ours);
  request.environment.push_back("NOTIFY_SOCKET=" + notify_address);
  if (options.timeout)
    request.environment.push_back(
        "WATCHDOG_USEC=" +
        std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(*options.timeout).count()));
  if (options.listeners.empty()) return request;
  int number = first_listener_number;
  for (const InheritedListener& listener : options.listeners) request.fds.push_back({listener.fd, number++});
  request.environment.push_back("LISTEN_FDS=" + std::to_string(options.listeners.size()));
  request.environment.push_back("LISTEN_FDNAMES=" + names_of(options.listeners));
  request.says_listen_pid = true;
  return request;
}

// O_NONBLOCK belongs to the socket, not to the descriptor, so it is shared with the child. A simple program that calls
// accept() expects to wait there, as it does under systemd (NonBlocking=no); one with a loop sets the flag itself.
void make_blocking(const std::vector<InheritedListener>& listeners) {
  for (const InheritedListener& each : listeners)
    if (const int flags = ::fcntl(each.fd, F_GETFL); flags >= 0) ::fcntl(each.fd, F_SETFL, flags & ~O_NONBLOCK);
}
}  // namespace

Result<std::unique_ptr<ExecLauncher>> ExecLauncher::create(uv_loop_t* loop, Orphans& orphans, ExecOptions options) {
  std::unique_ptr<ExecLauncher> launcher(new ExecLauncher(loop, orphans, std::move(options)));
  auto socket = NotifySocket::open(
      loop, [self = launcher.get()](const ucred& sender, const Result<Message>& m) { self->heard(sender, m); });
  if (!socket) return socket.error();
  make_blocking(launcher->options_.listeners);
  launcher->notify_ = std::move(*socket);
  if (launcher->options_.child.output == OutputRoute::relay) {
    auto output = WorkerOutput::open(loop, launcher->options_.child, "");
    if (!output) return output.error();
    launcher->shared_output_ = std::move(*output);
  }
  return launcher;
}

ExecLauncher::ExecLauncher(uv_loop_t* loop, Orphans& orphans, ExecOptions options)
    : loop_(loop), orphans_(orphans), options_(std::move(options)), later_(loop) {}

void ExecLauncher::load(Generation generation, const LoadEvents& events) {
  later_.run([loaded = events.loaded, generation] { loaded(generation); });
}

std::unique_ptr<WorkerLink> ExecLauncher::launch(const Spawn& spawn, const LinkEvents& events) {
  NotifyLinkHome& home = *this;
  auto link = std::make_unique<NotifyLink>(loop_, orphans_, home, spawn.id, events);
  links_[spawn.id] = link.get();
  if (auto failed = start(spawn, *link)) link->fail(std::move(*failed));
  return link;
}

std::optional<Exit> ExecLauncher::start(const Spawn& worker, NotifyLink& link) {
  const auto booting = std::ranges::count_if(
      links_, [&](const auto& each) { return each.first != worker.id && !each.second->is_ready(); });
  if (!room_for_a_launch(static_cast<std::size_t>(booting))) return no_descriptors_for_a_launch();
  SpawnRequest request = request_for(options_, notify_->address());
  WorkerOutput output;
  if (options_.child.output == OutputRoute::prefixed) {
    auto opened = WorkerOutput::open(loop_, options_.child, worker_prefix(worker.slot));
    if (!opened) return launch_failure("pipe", opened.error().code);
    output = std::move(*opened);
    output.hand_to(request.fds);
  }
  shared_output_.hand_to(request.fds);
  auto outcome = moult::spawn(request);
  if (const auto* failed = std::get_if<Exit>(&outcome)) return *failed;
  auto& spawned = std::get<Spawned>(outcome);
  output.out_end.reset();  // the child has its own
  output.err_end.reset();
  const auto attached = link.attach(spawned.pid, std::move(spawned.pidfd), std::move(output), options_.ready_delay);
  if (!attached) return launch_failure("watch", attached.error().code);
  return std::nullopt;
}

void ExecLauncher::heard(const ucred& sender, const Result<Message>& message) {
  NotifyLink* link = speaker(sender.pid);
  if (link && message) link->heard(*message);
  else ++refused_messages_;
}

// A pid is asked for its group while it lives, or is a zombie that nobody reaped: a link reads before it reaps.
NotifyLink* ExecLauncher::speaker(pid_t sender) const {
  if (sender <= 0) return nullptr;
  const pid_t group = ::getpgid(sender);
  for (const auto& [id, link] : links_)
    if (link->pid() != 0 && (link->pid() == sender || link->pid() == group)) return link;
  return nullptr;
}
}  // namespace moult
