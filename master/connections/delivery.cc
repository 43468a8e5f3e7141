#include "master/connections/delivery.h"

#include <algorithm>
#include <utility>

#include "master/connections/send_queue.h"
namespace moult {
namespace {
LingerPolicy linger(const DeliveryPolicy& policy) { return {.patience = policy.patience}; }

LingerCounts sum(const LingerCounts& a, const LingerCounts& b) {
  return {a.begun + b.begun,     a.delivered + b.delivered,     a.reset + b.reset,
          a.aborted + b.aborted, a.fail_closed + b.fail_closed, a.undelivered + b.undelivered};
}
}  // namespace

DeliveryWatch::~DeliveryWatch() { delivery_.ended(*this); }

Delivery::Delivery(uv_loop_t* loop, std::vector<TcpDoor> doors, const DeliveryPolicy& policy, DeliveryParts parts)
    : policy_(policy),
      parts_(std::move(parts)),
      doors_(std::move(doors)),
      closing_(loop, {.linger = linger(policy)}),
      tails_(loop, doors_, {.linger = linger(policy)},
             {.is_watched = [this](std::uint64_t inode) { return closing_.holds(inode); },
              .descriptor = [this](std::uint64_t inode) { return parts_.parked ? parts_.parked(inode) : -1; }}),
      settling_(make_timer(loop, this)) {
  closing_.on_settled([this] { settle_later(); });
  tails_.on_settled([this] { settle_later(); });
}

std::unique_ptr<DeliveryWatch> Delivery::watch(DeliveryWish why, std::function<void(DeliveryVerdict)> told) {
  std::unique_ptr<DeliveryWatch> made(new DeliveryWatch(*this, why, std::move(told)));
  watches_.push_back(made.get());
  why_ = why;
  if (is_on() && watches_.size() == 1) {
    fail_closed_ = 0;
    closing_.allow_aborts(true);
    tails_.begin(true);
  }
  settle_later();
  return made;
}

void Delivery::ended(DeliveryWatch& watch) {
  std::erase(watches_, &watch);
  if (!is_on() || !watches_.empty()) return;
  fail_closed_ = tails_.describe().fail_closed;
  tails_.end();
  closing_.allow_aborts(false);
}

std::size_t Delivery::undelivered() {
  if (!is_on()) return 0;
  const auto found = undelivered_at(doors_);
  trouble_ = found ? "" : found.error().message;
  if (!found) return 1;
  if (found->empty()) fail_closed_ = 0;
  return found->size();
}

void Delivery::close(WorkerId from, std::uint64_t its_number, UniqueFd fd) {
  WorkerLink* link = parts_.link(from);
  if (!is_on() || !fd || !is_connection(fd.get()) || !parts_.room()) {
    ++declined_;
    if (link) link->decline(its_number);
    return;
  }
  if (link) link->take_to_close(its_number);
  closing_.close(std::move(fd));
}

DeliveryDescription Delivery::describe() const {
  const ClosingDescription closing = closing_.describe();
  const TailDescription tails = tails_.describe();
  DeliveryDescription d{.patience = policy_.patience,
                        .watched = closing.undelivered + tails.watched,
                        .stalled = closing.stalled + tails.stalled,
                        .unwatched = tails.unwatched,
                        .fail_closed = watches_.empty() ? fail_closed_ : tails.fail_closed,
                        .closing = closing.held,
                        .declined = declined_,
                        .counts = sum(closing.counts, tails.counts),
                        .trouble = watches_.empty() ? trouble_ : tails.trouble};
  return d;
}

void Delivery::settle_later() {
  uv_timer_start(
      settling_.get(), [](uv_timer_t* timer) { static_cast<Delivery*>(timer->data)->settle(); }, 0, 0);
}

void Delivery::settle() {
  tell_aborted();
  const std::vector<DeliveryWatch*> asked = watches_;  // whoever is told may end any of them
  for (DeliveryWatch* each : asked) {
    if (std::ranges::find(watches_, each) == watches_.end()) continue;
    const auto is = verdict(each->why_);
    if (!is || !each->told_) continue;
    std::exchange(each->told_, nullptr)(*is);
  }
}

void Delivery::tell_aborted() {
  const std::uint64_t aborted = closing_.describe().counts.aborted + tails_.describe().counts.aborted;
  const std::uint64_t untold = aborted - std::exchange(aborts_told_, aborted);
  if (untold > 0 && parts_.observer) parts_.observer->lingers_aborted({why_, untold, policy_.patience});
}

// None: not yet.
std::optional<DeliveryVerdict> Delivery::verdict(DeliveryWish why) const {
  if (!is_on()) return DeliveryVerdict::delivered;
  const TailDescription tails = tails_.describe();
  const bool all_closed = closing_.describe().undelivered == 0;
  switch (tails.verdict) {
    case TailVerdict::underway: return std::nullopt;
    case TailVerdict::delivered:
      if (all_closed) return DeliveryVerdict::delivered;
      return std::nullopt;
    case TailVerdict::fail_closed: break;
  }
  const bool cannot_look = tails.fail_closed == 0;
  const bool others_are_over = all_closed && tails.watched == 0 && tails.unwatched == 0;
  if (why == DeliveryWish::before_stop && !cannot_look && !others_are_over) return std::nullopt;
  return DeliveryVerdict::fail_closed;
}
}  // namespace moult
