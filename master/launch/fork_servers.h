#pragma once
// Launches workers of an app that is loaded once and forked: one fork server for each generation. Made by Instance,
// used by the Supervisor, which gives up all its links before this is destroyed.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "master/launch/channel_link.h"
#include "master/launch/fork_server.h"
#include "master/pool/launcher.h"
namespace moult {
class ForkServers final : public Launcher, private ChannelLinkHome {
 public:
  ForkServers(uv_loop_t*, Orphans&, ForkServersOptions);
  ~ForkServers() override;
  ForkServers(const ForkServers&) = delete;
  ForkServers& operator=(const ForkServers&) = delete;

  // A generation that is dropped while it loads answers with neither.
  void load(Generation, const LoadEvents&) override;
  std::unique_ptr<WorkerLink> launch(const Spawn&, const LinkEvents&) override;
  void drop(Generation) override;
  pid_t fork_server_pid(Generation) const override;
  std::size_t running() const override { return servers_.size() + ending_.size(); }

  std::uint64_t refused_messages() const { return refused_messages_; }
  // Of OutputRoute::relay: of all workers so far. (A link's own are gone with the link.)
  std::uint64_t dropped_output_lines() const { return shared_output_.dropped_lines(); }

 private:
  struct Launched {
    ChannelLink* link;
    Generation generation;
    std::optional<unsigned> slot;
  };
  std::optional<Exit> start(const Spawn&, ChannelLink&);
  ForkServer* find(Generation) const;
  void let_end(Generation);
  void withdraw(WorkerId) override;
  void takes_slot(WorkerId, unsigned slot) override;
  void exited(WorkerId, pid_t) override;
  void count_refused_message() override { ++refused_messages_; }
  void forget(WorkerId id) override { launched_.erase(id); }

  uv_loop_t* loop_;
  Orphans& orphans_;
  ForkServersOptions options_;
  WorkerOutput shared_output_;
  std::map<WorkerId, Launched> launched_;
  std::uint64_t refused_messages_ = 0;
  std::map<Generation, std::unique_ptr<ForkServer>> servers_;
  std::map<const ForkServer*, std::unique_ptr<ForkServer>> ending_;
  Later later_;
};
}  // namespace moult
