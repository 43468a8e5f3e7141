#pragma once
// Whether what was sent to clients has arrived, whoever holds their connections: workers, parking, nobody any more
// (TailWatch), or the master itself, for those that a worker cannot close without cutting its answer off
// (ClosingConnections). The one owner of both; each connection is watched and counted by one of them alone. A parked
// connection is a tail like a worker's, but that it can be aborted whoever we are.
// Made by Instance; asked by the Sleeper before a sleep and by DeliveryAtStop; on the loop's thread.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/uv_handle.h"
#include "master/connections/closing_connections.h"
#include "master/connections/delivery_observer.h"
#include "master/connections/tail_watch.h"
#include "master/pool/worker_link.h"
namespace moult {
enum class DeliveryVerdict {
  delivered,   // everything that was sent is acknowledged; or its client is gone, or was given up by an abort
  fail_closed  // some is left that can be neither delivered nor aborted: whoever asked must not act as if it were
};

struct DeliveryPolicy {
  Duration patience = std::chrono::minutes(5);  // --linger-timeout; zero: nothing is watched or waited for
};

struct DeliveryParts {
  std::function<WorkerLink*(WorkerId)> link;       // null: gone
  std::function<bool()> room;                      // for one more descriptor
  std::function<int(std::uint64_t inode)> parked;  // ConnectionKeeper::descriptor()
  DeliveryObserver* observer = nullptr;            // null: nobody listens
};

struct DeliveryDescription {
  Duration patience{};          // zero: off, and nothing else means anything
  std::size_t watched = 0;      // whose fate is not known
  std::size_t stalled = 0;      // of these, without progress for `patience`
  std::size_t unwatched = 0;    // seen, but beyond what is watched
  std::size_t fail_closed = 0;  // could not be aborted: now, or when the last watch ended
  std::size_t closing = 0;      // descriptors of connections that close in the master
  std::uint64_t declined = 0;   // connections that workers wanted to close here, and closed themselves
  LingerCounts counts;          // begun = the outcomes + watched
  std::string trouble;          // why the kernel's list cannot be read; empty: it can
};

class Delivery;
// One who waits for the verdict; its end ends the waiting. Must not outlive the Delivery.
class DeliveryWatch {
 public:
  ~DeliveryWatch();
  DeliveryWatch(const DeliveryWatch&) = delete;
  DeliveryWatch& operator=(const DeliveryWatch&) = delete;

 private:
  friend class Delivery;
  using Told = std::function<void(DeliveryVerdict)>;
  DeliveryWatch(Delivery& delivery, DeliveryWish why, Told told)
      : delivery_(delivery), why_(why), told_(std::move(told)) {}
  Delivery& delivery_;
  const DeliveryWish why_;
  Told told_;
};

class Delivery {
 public:
  Delivery(uv_loop_t*, std::vector<TcpDoor>, const DeliveryPolicy&, DeliveryParts);
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  // While it lasts, what has stalled is aborted. `told` is called once, later, and may end the watch but not us.
  //   before a sleep: at the first that can be neither delivered nor aborted, it has failed
  //   before a stop:  it has failed when nothing else is left; whoever asks decides for how long that may take
  std::unique_ptr<DeliveryWatch> watch(DeliveryWish why, std::function<void(DeliveryVerdict)> told);

  // A look now: connections at our doors with something on its way. One at least if nothing can be seen. Milliseconds,
  // by the number of connections of the whole machine (socket_diagnosis.h): to be asked for once a second, not more.
  std::size_t undelivered();

  // FDCLOSE, for ConnectionEvents::closing: taken and closed here, or declined.
  void close(WorkerId from, std::uint64_t its_number, UniqueFd);

  Duration patience() const { return policy_.patience; }
  DeliveryDescription describe() const;

 private:
  friend class DeliveryWatch;
  bool is_on() const { return policy_.patience > Duration::zero(); }
  void ended(DeliveryWatch&);
  void settle_later();
  void settle();
  void tell_aborted();
  std::optional<DeliveryVerdict> verdict(DeliveryWish) const;

  const DeliveryPolicy policy_;
  const DeliveryParts parts_;
  const std::vector<TcpDoor> doors_;
  ClosingConnections closing_;
  TailWatch tails_;
  std::vector<DeliveryWatch*> watches_;
  DeliveryWish why_ = DeliveryWish::before_sleep;  // of the last one that began
  std::size_t fail_closed_ = 0;                    // when the last watch ended
  std::uint64_t declined_ = 0, aborts_told_ = 0;
  std::string trouble_;            // of the last look of undelivered()
  UvHandle<uv_timer_t> settling_;  // nobody is told from inside a step
};
}  // namespace moult
