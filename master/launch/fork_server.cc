#include "master/launch/fork_server.h"

#include <unistd.h>

#include <csignal>
#include <utility>

#include "master/launch/launch_failure.h"
namespace moult {
namespace {
constexpr int channel_number = 3, settings_number = 4, first_listener_number = 5;  // in the fork server
}

ForkServer::ForkServer(uv_loop_t* loop, Orphans& orphans, const ForkServersOptions& options, const WorkerOutput& output,
                       Events events)
    : loop_(loop),
      orphans_(orphans),
      options_(options),
      events_(std::move(events)),
      later_(loop),
      kill_timer_(make_timer(loop, this)) {
  start(output);
}

void ForkServer::start(const WorkerOutput& output) {
  const auto cannot = [this](const Error& why) {
    later_.run([this, why] {
      if (stage_ == Stage::loading) fail_load({"cannot start the fork server: " + why.message, why.code});
      else say_ended();
    });
  };
  auto pair = Channel::pair();
  if (!pair) return cannot(pair.error());
  auto port =
      ChannelPort::open(loop_, std::move(pair->first),
                        {.received = [this](const Received& r) { received(r); }, .ended = [this] { channel_ended(); }});
  if (!port) return cannot(port.error());
  port_ = std::move(*port);
  if (const auto failed = execute(output, std::move(pair->second))) cannot({describe(*failed), failed->error});
}

std::optional<Exit> ForkServer::execute(const WorkerOutput& output, UniqueFd channel) {
  WrittenSettings written = write_settings(options_.settings, ::getpid(), first_listener_number);
  const auto memory = sealed_memory(written.json);
  if (!memory) return launch_failure("memfd_create", memory.error().code);
  SpawnRequest request = spawn_request(options_.child);
  request.command = options_.program;
  request.command.insert(request.command.end(), {"--channel-fd", std::to_string(channel_number), "--settings-fd",
                                                 std::to_string(settings_number)});
  request.fds = std::move(written.fds);
  request.fds.push_back({channel.get(), channel_number});
  request.fds.push_back({memory->get(), settings_number});
  output.hand_to(request.fds);
  request.oom_score_adj = oom_score_adj_above_ours(fork_server_oom_score_above_ours);
  auto outcome = spawn(request);
  if (const auto* failed = std::get_if<Exit>(&outcome)) return *failed;
  auto& spawned = std::get<Spawned>(outcome);
  auto process = ChildProcess::own(loop_, orphans_, spawned.pid, std::move(spawned.pidfd),
                                   {.dying =
                                        [this] {
                                          if (port_) port_->read_all();
                                        },
                                    .exited = [this](const Exit& exit) { exited(exit); }});
  if (!process) return launch_failure("watch", process.error().code);
  process_ = std::move(*process);
  return std::nullopt;
}

// --- what is asked of it

Result<void> ForkServer::fork(const Spawn& spawn, ForkedWorkerFds fds) {
  Message message;
  message.add("FORK", spawn.id.value);
  if (spawn.slot) message.add("SLOT", *spawn.slot);
  std::vector<UniqueFd> passed;
  passed.push_back(std::move(fds.channel));
  passed.push_back(std::move(fds.scoreboard));
  if (fds.out) passed.push_back(std::move(fds.out));
  if (fds.err) passed.push_back(std::move(fds.err));
  if (!port_ || stage_ != Stage::loaded) return Error{"the fork server is gone", ESRCH};
  return port_->send(std::move(message), std::move(passed), spawn.id.value);
}

void ForkServer::withdraw(WorkerId id) {
  if (port_) port_->withdraw(id.value);
}

void ForkServer::say_exited(pid_t pid, std::optional<unsigned> slot) {
  if (!port_ || stage_ != Stage::loaded) return;
  Message message;
  message.add("EXITED", static_cast<std::uint64_t>(pid));
  if (slot) message.add("SLOT", *slot);
  // A hook's news: if the queue is full it is lost, and the hook with it.
  [[maybe_unused]] const Result<void> sent = port_->send(std::move(message));
}

void ForkServer::read_all() {
  if (port_) port_->read_all();
}

void ForkServer::end() {
  if (std::exchange(stage_, Stage::ending) == Stage::ending) return;
  later_.run([this] {  // we may be inside a callback of the port
    port_.reset();
    if (!process_) return say_ended();
    process_->signal(SIGTERM);
    kill_after_patience();
  });
}

void ForkServer::kill_after_patience() {
  const auto kill = [](uv_timer_t* timer) {
    auto* self = static_cast<ForkServer*>(timer->data);
    if (self->process_) self->process_->signal(SIGKILL);
  };
  uv_timer_start(kill_timer_.get(), kill, patience.count(), 0);
}

// --- what it says

void ForkServer::received(const Received& received) {
  if (stage_ == Stage::ending || !process_) return;
  // Only the fork server itself: a worker that kept its socket open (or anything the app started) is not heard.
  if (!received.sender || received.sender->pid != process_->pid()) return events_.message_refused();
  spoke_ = true;
  if (!received.message) return broken(received.message.error().message);
  heard(*received.message);
}

void ForkServer::heard(const Message& message) {
  for (const auto& [key, value] : message.lines())
    if (key == "WARNING" && options_.warn) options_.warn(unescape(value));
  if (const auto error = message.find("ERROR")) cause_ = unescape(*error);
  if (message.has("LOAD_FAILED") && stage_ == Stage::loading)
    return fail_load({cause_.empty() ? "the app did not load" : cause_});
  if (message.has("LOADED")) {
    if (stage_ != Stage::loading) return broken("it said LOADED twice");
    stage_ = Stage::loaded;
    if (const auto server = message.find("SERVER"); server && options_.served_by)
      options_.served_by(std::string(*server));
    return events_.loaded();
  }
  if (message.has("FORKED") || message.has("FORK_FAILED")) heard_of_fork(message);
}

void ForkServer::heard_of_fork(const Message& message) {
  if (message.has("FORKED")) {
    const auto id = message.find_number<std::uint64_t>("FORKED");
    const auto pid = message.find_number<pid_t>("PID");
    if (!id || !pid || *pid <= 0) return broken("FORKED without its numbers");
    return events_.forked(WorkerId{*id}, *pid);
  }
  const auto id = message.find_number<std::uint64_t>("FORK_FAILED");
  if (!id) return broken("FORK_FAILED without a number");
  events_.fork_failed(WorkerId{*id}, std::string(message.find("STAGE").value_or("fork")),
                      message.find_number<int>("ERRNO").value_or(0));
}

void ForkServer::fail_load(const Error& why) {
  end();
  events_.load_failed(why);
}

// An interpreter that exits closes its channel a good while before it is gone: its own exit status says more than ours.
void ForkServer::channel_ended() {
  if (stage_ == Stage::ending) return;
  if (cause_.empty()) cause_ = "it closed its channel";
  kill_after_patience();
}

void ForkServer::broken(const std::string& why) {
  if (stage_ == Stage::ending) return;
  if (cause_.empty()) cause_ = why;
  if (process_) process_->signal(SIGKILL);  // exited() says the rest
}

std::string ForkServer::why_not_loaded(const Exit& exit) const {
  if (!spoke_)
    return options_.program.front() + " " + describe(exit) + " before moult's part ran in it" +
           (options_.if_silent.empty() ? "" : ": " + options_.if_silent);
  return "the fork server " + describe(exit) + " before the app was loaded" +
         (exit.cause.empty() ? "" : ": " + exit.cause);
}

void ForkServer::say_ended() {
  if (!std::exchange(ended_said_, true)) events_.ended();
}

void ForkServer::exited(Exit exit) {
  process_.reset();
  if (exit.cause.empty()) exit.cause = cause_;
  const Stage before = std::exchange(stage_, Stage::ending);
  later_.run([this, exit, before] {
    port_.reset();
    if (before == Stage::loading) events_.load_failed({why_not_loaded(exit)});
    if (before == Stage::loaded) events_.lost(exit);
    say_ended();
  });
}
}  // namespace moult
