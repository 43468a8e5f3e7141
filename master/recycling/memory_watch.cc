#include "master/recycling/memory_watch.h"

#include <algorithm>

#include "master/pool/pool_parts.h"
namespace moult {
namespace {
constexpr std::uint64_t shortage = 4;           // a quarter of --min-headroom: a choice, well before the end
constexpr std::size_t most_weighed_a_look = 4;  // some 10 ms for processes of 300 MB
}  // namespace

MemoryWatch::MemoryWatch(uv_loop_t* loop, const MemoryWatchOptions& options, Supervisor& supervisor,
                         std::vector<RecycleObserver*> observers)
    : loop_(loop),
      options_(options),
      supervisor_(supervisor),
      observers_(std::move(observers)),
      random_{options.random_seed},
      limits_(options.limits),
      pressure_(loop, options.min_headroom,
                {.stalled = [this] { judge_all_soon(); },
                 .futile = [this](Duration time) { tell([&](RecycleObserver& o) { o.pressure_futile(time); }); },
                 .say =
                     [this](const std::string& line) {
                       tell([&](RecycleObserver& o) { o.recycling_note(LogLevel::warning, line); });
                     }}),
      recycles_(options.policy.alarm),
      timer_(make_timer(loop, this)) {
  supervisor_.observe(*this);
  supervisor_.on_admission(
      [this](const Worker& worker, pid_t pid, Supervisor::Trial trial) { return admit(worker, pid, trial); });
  pressure_.look(Duration::zero(), now());
  tell_headroom();
}

// --- a worker is ready

Result<void> MemoryWatch::admit(const Worker& worker, pid_t pid, Supervisor::Trial trial) {
  WatchedWorker newcomer(worker.generation, pid, known_private_bytes(worker));
  const Newborn born{worker.generation, newcomer.rss_at_ready_bytes(), newcomer.boot_private_bytes()};
  DrawFrom drawn;
  if (trial == Supervisor::Trial::first_of_its_code) {
    auto admitted = limits_.on_trial(born, surroundings());
    if (!admitted) return admitted.error();
    drawn = *std::move(admitted);
  } else {
    drawn = limits_.proven(born, surroundings());
  }
  if (newcomer.trouble())
    tell([&](RecycleObserver& o) {
      o.recycling_note(LogLevel::warning, "a worker is not weighed for now: " + newcomer.trouble()->message);
    });
  const LogLevel level = drawn.range.raised ? LogLevel::warning : LogLevel::info;
  if (!drawn.note.empty()) tell([&](RecycleObserver& o) { o.recycling_note(level, drawn.note); });
  newcomer.begin(make_record(worker.id, born.rss_bytes, drawn.range, options_.policy, random_, now()));
  newcomer.next_look = now() + options_.policy.sample_near;
  watched_.insert_or_assign(worker.id, std::move(newcomer));
  private_bytes_of_spares_.erase(worker.id);
  arm();
  return {};
}

// When the last of it is gone, reading smaps_rollup of a process that waits for memory takes up to seconds, in which
// our loop would stand still.
bool MemoryWatch::memory_is_short() const {
  return pressure_.headroom_bytes() < pressure_.min_headroom_bytes() / shortage;
}

// Who writes to pages that it shares (as Python does when it only reads) takes memory that its RSS does not show. So
// when pressure is near, workers are weighed one after the other, each at most once in --sample-far.
void MemoryWatch::weigh_anew(MonotonicTime at) {
  if (memory_is_short() || pressure_.headroom_bytes() / 2 >= pressure_.min_headroom_bytes()) return;
  std::vector<WatchedWorker*> due;
  for (auto& [id, watched] : watched_)
    if (at - watched.weighed_at() >= options_.policy.sample_far) due.push_back(&watched);
  const std::size_t count = std::min(due.size(), most_weighed_a_look);
  std::ranges::partial_sort(due, due.begin() + static_cast<std::ptrdiff_t>(count), {}, &WatchedWorker::weighed_at);
  for (std::size_t i = 0; i < count; ++i) due[i]->weigh(at);
}

// Of one that was a spare what it had of its own then. When memory is short: what another worker of this code had of
// its own when it was ready, if one is known.
std::optional<std::uint64_t> MemoryWatch::known_private_bytes(const Worker& worker) const {
  if (const auto was_spare = private_bytes_of_spares_.find(worker.id); was_spare != private_bytes_of_spares_.end())
    return was_spare->second;
  if (!memory_is_short()) return std::nullopt;
  for (const auto& [id, watched] : watched_)
    if (watched.generation() == worker.generation) return watched.boot_private_bytes();
  return 0;
}

// Now, and not when it is ready: somebody waits then, and for a large process it takes longer than all else.
void MemoryWatch::worker_parked(const Worker& worker, pid_t pid) {
  if (memory_is_short()) return;
  const auto memory = WorkerMemory::open(pid);
  if (!memory) return;
  if (const auto rollup = memory->rollup()) private_bytes_of_spares_.insert_or_assign(worker.id, rollup->private_bytes);
}

Surroundings MemoryWatch::surroundings() const {
  return {pressure_.limit_bytes(), pressure_.min_headroom_bytes(), fork_server_rss_bytes(),
          supervisor_.pool().goal.workers};
}

std::uint64_t MemoryWatch::fork_server_rss_bytes() const {
  const pid_t pid = supervisor_.fork_server_pid();
  if (pid <= 0) return 0;
  const auto memory = WorkerMemory::open(pid);
  const auto rss = memory ? memory->rss_bytes() : Result<std::uint64_t>(memory.error());
  return rss ? *rss : 0;
}

// --- looking

void MemoryWatch::look() {
  const MonotonicTime at = now(), due = at + options_.policy.sample_near / 4;
  pressure_.look(options_.policy.sample_near, at);
  // Who frees most must be known as it is now: the one that has just taken the memory was last seen before it did.
  const bool all = pressure_.is_on(options_.policy, being_freed_bytes());
  const Pool& pool = supervisor_.pool();
  std::vector<WorkerId> looked_at;
  for (auto& [id, watched] : watched_) {
    const WorkerLink* link = supervisor_.link(id);
    if (!link || (watched.next_look > due && !all)) continue;
    watched.look(*link, options_.policy, memory_is_short() ? Depth::shallow : Depth::as_needed, at);
    if (!memory_is_short()) settle(watched, at);
    looked_at.push_back(id);
  }
  weigh_anew(at);
  const InstanceReading instance = read_instance(at);
  for (const Worker& worker : pool.workers) {
    const bool is_victim = instance.pressure && instance.pressure->victim == worker.id;
    const bool was_victim = recycle_rank(worker) == Rank::pressure;
    if (is_victim || was_victim) looked_at.push_back(worker.id);
  }
  std::vector<Verdict> verdicts;
  for (const WorkerId id : looked_at) {
    const Worker* worker = find(pool, id);
    const auto watched = watched_.find(id);
    if (!worker || watched == watched_.end() || worker->state != WorkerState::serving) continue;
    verdicts.push_back({id, judge(*worker, watched->second, instance, at)});
  }
  supervisor_.judge(std::move(verdicts));
  tell_headroom();
  arm();
}

InstanceReading MemoryWatch::read_instance(MonotonicTime at) {
  InstanceReading reading{pressure_.headroom_bytes(), recycles_.last_at(), std::nullopt};
  reading.pressure = pressure_.judge({.footprints = [this] { return footprints(); },
                                      .own_bytes = [this] { return own_bytes(); },
                                      .being_freed_bytes = being_freed_bytes()},
                                     options_.policy, at);
  return reading;
}

void MemoryWatch::settle(WatchedWorker& watched, MonotonicTime at) {
  const auto settled = watched.take_settled(at);
  if (!settled) return;
  limits_.settled(watched.generation(), settled->rss_bytes);
  const auto [least, is_first] = settled_private_bytes_.try_emplace(watched.generation(), settled->private_bytes);
  if (!is_first) least->second = std::min(least->second, settled->private_bytes);
}

Decision MemoryWatch::judge(const Worker& worker, WatchedWorker& watched, const InstanceReading& instance,
                            MonotonicTime at) {
  InstanceReading reading = instance;
  if (recycles_.in_hand(worker.id)) reading.last_recycle_at.reset();  // the cooldown that it began is for the others
  Decision decision = decide(watched.record(), reading, options_.policy, at);
  if (const auto* hold = std::get_if<Hold>(&decision)) watched.next_look = std::min(watched.next_look, hold->until);
  return decision;
}

// In the next turn of the loop: we may be inside a step of the pool.
void MemoryWatch::judge_all_soon() {
  for (auto& [id, watched] : watched_) watched.next_look = now();
  arm();
}

void MemoryWatch::arm() {
  MonotonicTime next = never;
  for (const auto& [id, watched] : watched_) next = std::min(next, watched.next_look);
  if (next != never) next = std::min(next, pressure_.next_look(options_.policy));
  if (next == never) {
    uv_timer_stop(timer_.get());
    return;
  }
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(next - now(), Duration::zero())).count();
  uv_timer_start(
      timer_.get(), [](uv_timer_t* t) { static_cast<MemoryWatch*>(t->data)->look(); }, static_cast<std::uint64_t>(wait),
      0);
}

// Whether a successor fits beside the one that it replaces.
void MemoryWatch::tell_headroom() {
  switch (options_.replace) {
    case Replace::successor_first: return supervisor_.headroom(Headroom::for_two);
    case Replace::in_place: return supervisor_.headroom(Headroom::for_one);
    case Replace::by_headroom: break;
  }
  std::uint64_t largest = 0;
  for (const auto& [id, watched] : watched_) largest = std::max(largest, watched.boot_private_bytes());
  const bool fits = pressure_.headroom_bytes() >= pressure_.min_headroom_bytes() &&
                    pressure_.headroom_bytes() - pressure_.min_headroom_bytes() >= largest;
  supervisor_.headroom(fits ? Headroom::for_two : Headroom::for_one);
}

// --- pressure

std::vector<Footprint> MemoryWatch::footprints() const {
  std::vector<Footprint> all;
  for (const Worker& worker : supervisor_.pool().workers) {
    const auto watched = watched_.find(worker.id);
    if (worker.state != WorkerState::serving || watched == watched_.end() || recycles_.in_hand(worker.id)) continue;
    all.push_back({worker.id, watched->second.private_bytes(), successor_bytes(watched->second)});
  }
  return all;
}

// What its successor will soon hold of its own. It copies pages that it shares at first, which RSS does not show: so it
// is what others had when they had settled, where that is known.
std::uint64_t MemoryWatch::successor_bytes(const WatchedWorker& watched) const {
  const auto settled = settled_private_bytes_.find(watched.generation());
  return std::max(watched.boot_private_bytes(), settled == settled_private_bytes_.end() ? 0 : settled->second);
}

// Of those that are on their way out and are replaced.
std::uint64_t MemoryWatch::being_freed_bytes() const {
  std::uint64_t total = 0;
  for (const auto& [id, watched] : watched_)
    if (recycles_.in_hand(id) && watched.private_bytes() > successor_bytes(watched))
      total += watched.private_bytes() - successor_bytes(watched);
  return total;
}

std::uint64_t MemoryWatch::own_bytes() const {
  std::uint64_t total = 0;
  for (const auto& [id, watched] : watched_) total += watched.private_bytes();
  return total;
}

// Memory was given back: who was to go before that has to be judged anew, before anybody acts on it.
void MemoryWatch::judge_pressure_anew() {
  std::vector<Verdict> verdicts;
  for (const Worker& worker : supervisor_.pool().workers)
    if (recycle_rank(worker) == Rank::pressure) verdicts.push_back({worker.id, Keep{}});
  supervisor_.judge(std::move(verdicts));
  judge_all_soon();
}

// --- what becomes of workers

void MemoryWatch::recycle_begun(const Worker& worker, pid_t pid, const BeginRecycle& recycle, const Granted& granted) {
  recycles_.begun(worker, pid, recycle, granted, holds_.so_far(worker.id, now()), now());
  const auto watched = watched_.find(worker.id);
  if (recycle.why.cause == Cause::pressure && watched != watched_.end())
    pressure_.recycle_begun(worker.id, recycle.why.evidence.needs_bytes, own_bytes() - watched->second.private_bytes(),
                            successor_bytes(watched->second));
  const WorkerName name{worker.slot, pid, worker.generation};
  tell([&](RecycleObserver& o) { o.recycle_begun(name, recycle.why, granted); });
  judge_all_soon();
}

void MemoryWatch::worker_retiring(const Worker& worker, pid_t) {
  const auto watched = watched_.find(worker.id);
  if (watched == watched_.end() || !recycles_.in_hand(worker.id)) return;
  if (!wanted(supervisor_.pool(), worker)) return;  // a stop, or fewer workers: it would go without its recycle, too
  const AlarmChange change = recycles_.retiring(worker, counted_requests(*supervisor_.link(worker.id)),
                                                watched->second.private_bytes(), now());
  if (change != AlarmChange::none)
    tell([&](RecycleObserver& o) { o.alarm_changed(change, figures(recycles_.lifetimes())); });
}

void MemoryWatch::worker_refused(const Worker& worker, pid_t, const std::string&) {
  const auto watched = watched_.find(worker.id);
  if (watched == watched_.end()) return;
  watched->second.ask_to_go();
  judge_all_soon();
}

void MemoryWatch::worker_gone(const Worker& worker, const Exit& exit) {
  const WorkerName name{worker.slot, exit.pid, worker.generation};
  if (const auto held = holds_.end(worker.id, now())) tell([&](RecycleObserver& o) { o.hold_ended(name, *held); });
  const auto cause = recycles_.cause(worker.id);
  const auto record = recycles_.gone(worker, exit, last_look(worker.id), now());
  if (record) tell([&](RecycleObserver& o) { o.recycled(*record); });
  forget(worker.id);
  if (cause == Cause::pressure) pressure_.victim_gone(worker.id, now());
  else pressure_.forget(worker.id);
  memory_came_free_ = true;  // the pool does not know of its end yet
}

void MemoryWatch::forget(WorkerId id) {
  private_bytes_of_spares_.erase(id);
  if (const auto gone = watched_.extract(id)) over_hard_of_the_gone_ += over_hard_so_far(gone.mapped().record(), now());
}

void MemoryWatch::generation_proven(Generation generation) {
  limits_.forget_before(generation);
  std::erase_if(settled_private_bytes_, [&](const auto& each) { return each.first < generation; });
}

void MemoryWatch::pool_settled(const Pool& pool) {
  if (std::exchange(memory_came_free_, false)) judge_pressure_anew();
  recycles_.forget_abandoned(pool);
  for (const HoldChange& change : holds_.update(pool, now())) {
    const Worker* worker = find(pool, change.worker);
    const WorkerLink* link = supervisor_.link(change.worker);
    if (!worker || !link) continue;
    const WorkerName name{worker->slot, link->pid(), worker->generation};
    if (change.begun) tell([&](RecycleObserver& o) { o.hold_started(name, *change.begun, change.evidence); });
    else tell([&](RecycleObserver& o) { o.hold_ended(name, {change.why, change.lasted}); });
  }
}

Recycles::LastLook MemoryWatch::last_look(WorkerId id) const {
  const WorkerLink* link = supervisor_.link(id);
  return link ? Recycles::LastLook{finished_requests(*link), link->handed_over()} : Recycles::LastLook{};
}

// --- wishes and the status

Result<unsigned> MemoryWatch::ask_to_go(std::optional<unsigned> slot) {
  unsigned asked = 0;
  for (const Worker& worker : supervisor_.pool().workers) {
    const auto watched = watched_.find(worker.id);
    const bool meant = worker.slot && (!slot || worker.slot == slot);
    if (!meant || worker.state != WorkerState::serving || watched == watched_.end()) continue;
    watched->second.ask_to_go();
    ++asked;
  }
  judge_all_soon();
  if (asked > 0) return asked;
  return Error{slot ? "no worker serves in slot " + std::to_string(*slot) : "no worker serves"};
}

Result<void> MemoryWatch::room_for_a_reload() const {
  if (options_.drops_old_code_first) return {};
  const std::uint64_t needed = fork_server_rss_bytes(), headroom = pressure_.headroom_bytes();
  if (needed <= headroom) return {};
  const auto megabytes = [](std::uint64_t bytes) { return std::to_string(bytes / megabyte) + " MB"; };
  return Error{"no room for a reload: the app weighs " + megabytes(needed) + " when it is loaded and " +
               megabytes(headroom) + " are left; --reload-low-memory drops the old code first"};
}

RecyclingDescription MemoryWatch::describe() const {
  RecyclingDescription d{{},
                         limits_.base_bytes(supervisor_.pool().goal.proven),
                         pressure_.headroom_bytes(),
                         pressure_.min_headroom_bytes(),
                         std::nullopt,
                         figures(recycles_.lifetimes()),
                         recycles_.lifetimes().firing,
                         over_hard_of_the_gone_,
                         pressure_.times_short()};
  if (recycles_.last_at()) d.since_last_recycle = now() - *recycles_.last_at();
  for (const auto& [id, watched] : watched_) {
    const WorkerRecord& record = watched.record();
    d.over_hard += over_hard_so_far(record, now());
    d.workers[id] = {record.rss_bytes, watched.rss_at_ready_bytes(), record.limit_bytes, record.hard_limit_bytes,
                     holds_.holding(id)};
  }
  return d;
}
}  // namespace moult
