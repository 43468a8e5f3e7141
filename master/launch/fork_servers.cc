#include "master/launch/fork_servers.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "master/launch/launch_failure.h"
#include "master/launch/open_files.h"
namespace moult {
ForkServers::ForkServers(uv_loop_t* loop, Orphans& orphans, ForkServersOptions options)
    : loop_(loop), orphans_(orphans), options_(std::move(options)), later_(loop) {
  orphans_.before_reaping_strangers([this] {
    std::vector<ForkServer*> servers;  // what one says may end it: it then lives on in ending_
    for (const auto& [generation, server] : servers_) servers.push_back(server.get());
    for (ForkServer* server : servers) server->read_all();
    // A copy: what a link hears may make the pool launch another one.
    const auto launched = launched_;
    for (const auto& [id, each] : launched)
      if (launched_.contains(id)) each.link->read_hello();
  });
}

ForkServers::~ForkServers() { orphans_.before_reaping_strangers(nullptr); }

ForkServer* ForkServers::find(Generation generation) const {
  const auto found = servers_.find(generation);
  return found == servers_.end() ? nullptr : found->second.get();
}

// --- fork servers

void ForkServers::load(Generation generation, const LoadEvents& events) {
  if (options_.child.output != OutputRoute::inherit && !shared_output_.out) {
    const bool prefixed = options_.child.output == OutputRoute::prefixed;
    auto output = WorkerOutput::open(loop_, options_.child, prefixed ? "[fork server] " : "");
    if (!output) {
      later_.run([=, why = output.error()] { events.load_failed(generation, why); });
      return;
    }
    shared_output_ = std::move(*output);
  }
  auto known = std::make_shared<const ForkServer*>(nullptr);
  auto server = std::make_unique<ForkServer>(
      loop_, orphans_, options_, shared_output_,
      ForkServer::Events{.loaded = [=] { events.loaded(generation); },
                         .load_failed =
                             [=, this](const Error& why) {
                               let_end(generation);
                               events.load_failed(generation, why);
                             },
                         .lost =
                             [=, this](const Exit& exit) {
                               let_end(generation);
                               events.lost(generation, exit);
                             },
                         .forked =
                             [this](WorkerId id, pid_t pid) {
                               const auto found = launched_.find(id);
                               if (found != launched_.end()) found->second.link->forked(pid);
                             },
                         .fork_failed =
                             [this](WorkerId id, const std::string& stage, int error) {
                               const auto found = launched_.find(id);
                               if (found != launched_.end()) found->second.link->fail(launch_failure(stage, error));
                             },
                         .message_refused = [this] { ++refused_messages_; },
                         .ended = [=, this] { later_.run([=, this] { ending_.erase(*known); }); }});
  *known = server.get();
  servers_[generation] = std::move(server);
}

// Nobody is forked from it from now on; it is destroyed when its process is gone.
void ForkServers::let_end(Generation generation) {
  const auto found = servers_.find(generation);
  if (found == servers_.end()) return;
  const ForkServer* key = found->second.get();
  ending_[key] = std::move(found->second);
  servers_.erase(found);
}

void ForkServers::drop(Generation generation) {
  ForkServer* server = find(generation);
  if (!server) return;
  let_end(generation);
  server->end();
}

pid_t ForkServers::fork_server_pid(Generation generation) const {
  const ForkServer* server = find(generation);
  return server ? server->pid() : 0;
}

// --- workers

std::unique_ptr<WorkerLink> ForkServers::launch(const Spawn& spawn, const LinkEvents& events) {
  ChannelLinkHome& home = *this;
  auto link = std::make_unique<ChannelLink>(loop_, orphans_, home, spawn.id, events);
  launched_[spawn.id] = {link.get(), spawn.generation, spawn.slot};
  if (auto failed = start(spawn, *link)) link->fail(std::move(*failed));
  return link;
}

std::optional<Exit> ForkServers::start(const Spawn& spawn, ChannelLink& link) {
  ForkServer* server = find(spawn.generation);
  if (!server || !server->loaded()) return launch_failure("fork", 0, "its generation has no fork server");
  std::size_t promised = 0;
  for (const auto& [id, each] : launched_)
    if (id != spawn.id) promised += (each.link->pid() == 0) + !each.link->is_ready();
  if (!room_for_a_launch(promised)) return no_descriptors_for_a_launch();
  auto pair = Channel::pair();
  if (!pair) return launch_failure("socketpair", pair.error().code);
  auto board = ScoreboardMemory::create();
  if (!board) return launch_failure("scoreboard", board.error().code);
  ForkedWorkerFds fds;
  fds.channel = std::move(pair->second);
  fds.scoreboard.reset(::fcntl(board->fd(), F_DUPFD_CLOEXEC, 0));
  if (!fds.scoreboard) return launch_failure("dup", errno);
  WorkerOutput output;
  if (options_.child.output == OutputRoute::prefixed) {
    auto opened = WorkerOutput::open(loop_, options_.child, worker_prefix(spawn.slot));
    if (!opened) return launch_failure("pipe", opened.error().code);
    output = std::move(*opened);
    fds.out = std::move(output.out_end);
    fds.err = std::move(output.err_end);
  }
  if (const auto attached = link.attach({std::move(pair->first), std::move(*board), std::move(output)}); !attached)
    return launch_failure("watch", attached.error().code);
  if (const auto asked = server->fork(spawn, std::move(fds)); !asked)
    return launch_failure("fork", asked.error().code, asked.error().message);
  return std::nullopt;
}

void ForkServers::withdraw(WorkerId id) {
  const auto found = launched_.find(id);
  if (found == launched_.end()) return;
  if (ForkServer* server = find(found->second.generation)) server->withdraw(id);
}

void ForkServers::takes_slot(WorkerId id, unsigned slot) {
  const auto found = launched_.find(id);
  if (found != launched_.end()) found->second.slot = slot;
}

void ForkServers::exited(WorkerId id, pid_t pid) {
  const auto found = launched_.find(id);
  if (found == launched_.end()) return;
  if (ForkServer* server = find(found->second.generation)) server->say_exited(pid, found->second.slot);
}
}  // namespace moult
