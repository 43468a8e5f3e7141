#pragma once
// Whether everything that workers sent has arrived, theirs and that of workers that are gone: the hands of tails.h.
// Asks the kernel for the connections of all doors at a time. For a sleep and a stop; owned by whoever asks, on the
// loop's thread.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/machine.h"
#include "master/connections/socket_diagnosis.h"
#include "master/connections/tails.h"
namespace moult {
struct TailDescription {
  TailVerdict verdict = TailVerdict::underway;
  std::size_t watched = 0;      // and underway
  std::size_t stalled = 0;      // of these
  std::size_t unwatched = 0;    // seen, but one too many
  std::size_t fail_closed = 0;  // stalled ones that could not be aborted, and are still there
  LingerCounts counts;
  std::string trouble;  // of the last look; empty: it succeeded
};

// Sockets at our doors that the master holds itself, by inode (never zero). Called while the TailWatch looks or aborts.
struct OwnSockets {
  // Somebody else watches it: it is no tail of ours.
  std::function<bool(std::uint64_t inode)> is_watched = [](std::uint64_t) { return false; };
  // A descriptor by which it can be reset without any right to destroy sockets; -1: we have none.
  std::function<int(std::uint64_t inode)> descriptor = [](std::uint64_t) { return -1; };
};

class TailWatch {
 public:
  // Doors that were closed meanwhile keep their connections, and are still looked at.
  TailWatch(uv_loop_t*, std::vector<TcpDoor>, const TailPolicy&, OwnSockets = {});
  TailWatch(const TailWatch&) = delete;
  TailWatch& operator=(const TailWatch&) = delete;

  // Looks once before it returns, and goes on by itself. Begun again: anew.
  void begin(bool may_abort);
  // Says how many were left. Nothing is aborted any more.
  std::size_t end();

  TailVerdict verdict() const { return moult::verdict(machine_.state(), policy_); }
  TailDescription describe() const;
  // Whenever something may have changed; it must not destroy us.
  void on_settled(std::function<void()> call) { machine_.on_settled(std::move(call)); }

 private:
  void perform(const TailAction&);
  void look();
  Result<TailsSeen> read_all();
  void abort(TailId);

  const std::vector<TcpDoor> doors_;
  const TailPolicy policy_;
  const OwnSockets own_;
  std::map<TailId, DiagnosedSocket> sockets_;  // of the last look that succeeded
  std::string trouble_;
  Machine<Tails, TailEvent, TailAction, TailPolicy> machine_;
};
}  // namespace moult
