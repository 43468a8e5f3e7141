#include "master/pool/supervisor.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include "master/pool/pool_parts.h"
#include "master/pool/trouble.h"
namespace moult {
namespace {
bool says_the_same(const Decision& before, const Decision& now) {
  if (std::holds_alternative<Keep>(before) && std::holds_alternative<Keep>(now)) return true;
  const auto *held = std::get_if<Hold>(&before), *holds = std::get_if<Hold>(&now);
  return held && holds && held->why == holds->why && held->until == holds->until;
}

int number_of(Signal signal) {
  switch (signal) {
    case Signal::abort: return SIGABRT;
    case Signal::interrupt: return SIGINT;
    case Signal::terminate: return SIGTERM;
    case Signal::kill: break;
  }
  return SIGKILL;
}
bool for_want_of_room(const Exit& exit) {
  const bool never_lived = exit.pid == 0 && !exit.stage.empty();
  return never_lived && (exit.error == EMFILE || exit.error == ENFILE || exit.error == ENOMEM || exit.error == EAGAIN);
}

std::string time_text(Duration time) {
  const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  return count % 1000 ? std::to_string(count) + "ms" : std::to_string(count / 1000) + "s";
}

std::string trouble_with(const Worker& worker, const Exit& exit, bool crashed) {
  std::string text = describe(exit);
  if (!exit.cause.empty()) text += (exit.stage.empty() ? "\n" : ": ") + exit.cause;
  return crashed && worker.slot ? "worker " + std::to_string(*worker.slot) + " crashed: " + text : text;
}
}  // namespace

Supervisor::Supervisor(uv_loop_t* loop, const SupervisorPolicy& policy, Launcher& launcher, Gate& gate)
    : loop_(loop),
      policy_(policy),
      launcher_(launcher),
      gate_(gate),
      pool_(loop, Pool{.random = {policy.random_seed}}, policy_.pool, [this](const PoolAction& a) { perform(a); }),
      generations_(loop, Generations{.random = {policy.random_seed + 1}}, policy_.generations,
                   [this](const GenerationsAction& a) { perform(a); }) {
  pool_.on_settled([this] { settled(); });
  gate_.on_waiting([this](AskId ask, Refusal why, MonotonicTime until) { pool_.post(GateWaits{ask, {why, until}}); });
}

Supervisor::~Supervisor() { gate_.on_waiting(nullptr); }

void Supervisor::start(unsigned workers) {
  pool_.post(ScaleTo{workers});
  generations_.post(Reload{});
}

void Supervisor::scale(unsigned workers) { pool_.post(ScaleTo{workers}); }

void Supervisor::stop() {
  end_reload("moult is stopping");
  pool_.post(Stop{});
}

void Supervisor::stop_quickly() {
  end_reload("moult is stopping");
  generations_.post(Cease{});
  pool_.post(StopQuickly{});
}

void Supervisor::hung(WorkerId id, const std::string& why) {
  const Worker* worker = find(pool_.state(), id);
  if (!worker || worker->state != WorkerState::serving) return;
  const Worker before = *worker;
  attached_.at(id).status = why;
  tell([&](WorkerObserver& o) { o.worker_hung(before, attached_.at(id).link->pid(), why); });
  pool_.post(WorkerHung{id});
}

// Each look passes here: what changes nothing costs no step of the pool.
void Supervisor::judge(std::vector<Verdict> verdicts) {
  std::erase_if(verdicts, [&](const Verdict& each) {
    const Worker* worker = find(pool_.state(), each.worker);
    return !worker || says_the_same(worker->decision, each.decision);
  });
  if (!verdicts.empty()) pool_.post(Judged{std::move(verdicts)});
}

void Supervisor::headroom(Headroom headroom) {
  if (headroom != pool_.state().headroom) pool_.post(HeadroomChanged{headroom});
}

void Supervisor::listeners_closed() { pool_.post(ListenersClosed{}); }

void Supervisor::reopen_logs() {
  for (auto& [id, each] : attached_)
    if (each.ready_at || each.parked) each.link->reopen_logs();
}

WorkerLink* Supervisor::link(WorkerId id) const {
  const auto found = attached_.find(id);
  return found == attached_.end() ? nullptr : found->second.link.get();
}

pid_t Supervisor::fork_server_pid() const {
  const auto& loaded = generations_.state().loaded;
  return loaded.empty() ? 0 : launcher_.fork_server_pid(loaded.back());
}

// --- what the cores want done

void Supervisor::perform(const PoolAction& action) {
  std::visit(Match{
                 [&](const Spawn& a) { launch(a); },
                 [&](const Go& a) { go(a); },
                 [&](const SendRetire& a) { retire(a); },
                 [&](const SendSignal& a) {
                   if (WorkerLink* to = link(a.id)) to->signal(number_of(a.signal));
                 },
                 [&](const AskGate& a) { ask_gate(a); },
                 [&](const ReleaseGate& a) { asked_.erase(a.ask); },
                 [&](const BeginRecycle& a) { begin_recycle(a); },
                 [&](const GenerationProven& a) {
                   generations_.post(Proven{a.generation});
                   tell([&](WorkerObserver& o) { o.generation_proven(a.generation); });
                 },
                 [&](const GenerationRejected& a) { reject(a.generation); },
                 [&](const CloseListeners& a) {
                   generations_.post(Cease{});  // fork servers hold the listeners, too
                   close_listeners_(a.heir);
                 },
                 [&](const Finished& a) { finish(a.exit_code); },
             },
             action);
}

void Supervisor::perform(const GenerationsAction& action) {
  std::visit(Match{
                 [&](const Load& a) { load(a.generation); },
                 [&](const Drop& a) { launcher_.drop(a.generation); },
                 [&](const AnnounceLoaded& a) { pool_.post(GenerationLoaded{a.generation}); },
                 [&](const AnnounceLost& a) { pool_.post(GenerationLost{a.generation}); },
                 [&](const ReloadFailed& a) {
                   if (reload_ && reload_->generation <= a.generation) reload_->failed = cause_of(a.generation);
                   settle_reload();
                 },
                 [&](const NothingLoads&) { finish(exit_not_loaded); },
             },
             action);
}

void Supervisor::load(Generation generation) {
  tell([&](WorkerObserver& o) { o.load_started(generation); });
  launcher_.load(generation, {.loaded = [this](Generation g) { generations_.post(Loaded{g}); },
                              .load_failed = [this](Generation g, const Error& why) { load_failed(g, why.message); },
                              .lost =
                                  [this](Generation g, const Exit& exit) {
                                    note({g, std::nullopt, "the fork server " + moult::describe(exit)});
                                    tell([&](WorkerObserver& o) { o.fork_server_gone(g, exit); });
                                    generations_.post(Lost{g});
                                  }});
}

void Supervisor::load_failed(Generation generation, const std::string& why) {
  note({generation, std::nullopt, why});
  tell([&](WorkerObserver& o) { o.generation_rejected(generation, why); });
  generations_.post(LoadFailed{generation});
  load_failed_in_wake();
}

void Supervisor::reject(Generation generation) {
  tell([&](WorkerObserver& o) { o.generation_rejected(generation, cause_of(generation)); });
  generations_.post(Rejected{generation});
}

void Supervisor::launch(const Spawn& spawn) {
  auto& attached = attached_[spawn.id];
  attached.boot_began_at = now();
  attached.accepts = spawn.slot.has_value();
  attached.link = launcher_.launch(
      spawn, {.started = [](WorkerId, pid_t) {},
              .parked = [this](WorkerId id) { parked(id); },
              .ready = [this](WorkerId id, Drain) { ready(id); },
              .stopping = [this](WorkerId id) { stopped_accepting(id); },
              .status = [this](WorkerId id, const std::string& text) { attached_.at(id).status = text; },
              .refused = [this](WorkerId id, const std::string& what) { refused(id, what); },
              .gone = [this](WorkerId id, const Exit& exit) { gone(id, exit); },
              .connections = connections_,
              .next_due = [this](WorkerId id, const std::string& unix_seconds) { next_due(id, unix_seconds); }});
}

void Supervisor::next_due(WorkerId id, const std::string& unix_seconds) {
  const Worker* worker = find(pool_.state(), id);
  if (!worker) return;
  tell([&](WorkerObserver& o) { o.worker_next_due(*worker, attached_.at(id).link->pid(), unix_seconds); });
}

void Supervisor::retire(const SendRetire& order) {
  const Worker* worker = find(pool_.state(), order.id);
  WorkerLink* to = link(order.id);  // none: it died in this very step
  if (!worker || !to) return;
  const bool parks = connections_.stored && others_follow(pool_.state());
  to->retire(order.deadline, parks ? Adopters::some : Adopters::none);
  tell([&](WorkerObserver& o) { o.worker_retiring(*worker, to->pid()); });
}

// Its answer may take as long as a boot may: so long a turn may be open.
void Supervisor::ask_gate(const AskGate& question) {
  const auto answered = [this, ask = question.ask](const GateAnswer& answer) {
    const auto* granted = std::get_if<Granted>(&answer);
    if (granted) asked_.at(ask).granted = *granted;
    pool_.post(GateAnswered{ask, answer});
    if (!granted) asked_.erase(ask);  // the pool gives back what it was granted, and has nothing here
  };
  const Budget budget{now() + policy_.pool.timeouts.boot};
  asked_[question.ask].grant = gate_.acquire(question.ask, question.urgency, budget, answered);
}

void Supervisor::begin_recycle(const BeginRecycle& recycle) {
  const Worker* worker = find(pool_.state(), recycle.id);
  const auto asked = asked_.find(recycle.ask);
  const WorkerLink* to = link(recycle.id);
  if (!worker || !to || asked == asked_.end()) return;
  tell([&](WorkerObserver& o) { o.recycle_begun(*worker, to->pid(), recycle, asked->second.granted); });
}

void Supervisor::finish(int exit_code) {
  end_reload("moult is stopping");
  generations_.post(Cease{});
  const auto finished = std::exchange(finished_, nullptr);
  if (!finished) return;  // an app that does not load and a stop: the first one says how it ended
  tell([&](WorkerObserver& o) { o.stop_finished(exit_code); });
  finished(exit_code);
}

void Supervisor::go(const Go& order) {
  Attached& attached = attached_.at(order.id);
  attached.boot_began_at = now();
  attached.parked = false;
  attached.accepts = true;
  attached.link->go(order.slot);
}

// --- what workers say

void Supervisor::parked(WorkerId id) {
  const Worker* worker = find(pool_.state(), id);
  if (!worker || worker->state != WorkerState::booting || worker->slot) return;
  attached_.at(id).parked = true;  // it may have its GO in the same step
  pool_.post(WorkerParked{id});
  worker = find(pool_.state(), id);
  if (worker && worker->state == WorkerState::spare)
    tell([&](WorkerObserver& o) { o.worker_parked(*worker, attached_.at(id).link->pid()); });
}

// Code that serves already, or that is all there is, is not on trial any more.
Supervisor::Trial Supervisor::trial(const Worker& worker) const {
  const Pool& pool = pool_.state();
  const bool is_new = worker.generation == pool.goal.candidate && pool.goal.candidate != pool.goal.proven;
  return is_new && may_be_rejected(pool) ? Trial::first_of_its_code : Trial::none;
}

void Supervisor::ready(WorkerId id) {
  const Worker* worker = find(pool_.state(), id);
  if (!worker || worker->state != WorkerState::booting) return;
  Attached& attached = attached_.at(id);
  const Trial on_trial = trial(*worker);
  const Result<void> admitted = admission_(*worker, attached.link->pid(), on_trial);
  if (!admitted && on_trial == Trial::first_of_its_code) {
    note({worker->generation, std::nullopt, admitted.error().message});
    pool_.post(GenerationRefused{worker->generation});
    return;
  }
  pool_.post(WorkerReady{id});
  worker = find(pool_.state(), id);
  if (!worker || worker->state != WorkerState::serving) return;
  attached.ready_at = now();
  wake_.reset();
  tell([&](WorkerObserver& o) { o.worker_serving(*worker, attached.link->pid()); });
}

void Supervisor::stopped_accepting(WorkerId id) {
  attached_.at(id).accepts = false;
  settled();  // of no step of the pool: but a worker that serves may say it, whoever told it to
}

// It does not keep the contract: one that serves is replaced in peace (memory_watch hears it), another is not let in.
void Supervisor::refused(WorkerId id, const std::string& what) {
  const Worker* worker = find(pool_.state(), id);
  if (!worker) return;
  attached_.at(id).status = what;
  tell([&](WorkerObserver& o) { o.worker_refused(*worker, attached_.at(id).link->pid(), what); });
  if (worker->state != WorkerState::serving) attached_.at(id).link->signal(SIGKILL);
}

void Supervisor::gone(WorkerId id, Exit exit) {
  const Worker* found = find(pool_.state(), id);
  const auto attached = attached_.find(id);
  if (!found || attached == attached_.end()) return;
  const Worker worker = *found;
  const bool served = attached->second.ready_at.has_value(), booted = served || attached->second.parked;
  const bool too_slow = !booted && now() - attached->second.boot_began_at >= policy_.pool.timeouts.boot;
  if (exit.cause.empty() && too_slow) {
    exit.cause = "it was not ready within --boot-timeout (" + time_text(policy_.pool.timeouts.boot) + ")";
    if (exit.status == 0) exit.status.reset();  // a signal ended its boot: no success of its own
  }
  if (exit.cause.empty()) exit.cause = attached->second.status;
  const bool failed_boot = !booted && (worker.state == WorkerState::booting || too_slow);
  const bool crashed = served && worker.state == WorkerState::serving;
  if (failed_boot || crashed)
    note({worker.generation, worker.slot, trouble_with(worker, exit, crashed), {}, !worker.slot});
  const bool abandoned = !booted && !failed_boot;
  tell([&](WorkerObserver& o) {
    if (failed_boot) o.boot_failed(worker, exit);
    else if (abandoned) o.boot_abandoned(worker, exit);
    else o.worker_gone(worker, exit);
  });
  departed_ = std::move(attached->second.link);  // we are inside its callback
  attached_.erase(attached);
  pool_.post(WorkerGone{id, for_want_of_room(exit)});
  if (failed_boot) boot_failed_in_wake();
}

void Supervisor::settled() {
  settle_reload();
  tell([&](WorkerObserver& o) { o.pool_settled(pool_.state()); });
}

void Supervisor::note(Trouble trouble) {
  if (wake_) wake_->trouble = trouble.cause;
  Clocks clocks{};
  read_clock(loop_, clocks);
  trouble.at = clocks.monotonic;
  trouble.wall = clocks.wall;
  trouble_ = std::move(trouble);
}

// Older code may have its own trouble meanwhile, or had it long ago.
std::string Supervisor::cause_of(Generation generation) const {
  return trouble_ && trouble_->generation >= generation ? trouble_->cause : "the new code did not come up";
}

// --- looking

SupervisorDescription Supervisor::describe() const {
  const Pool& pool = pool_.state();
  SupervisorDescription d{pool.goal.mode, pool.goal.workers, pool.goal.proven, pool.goal.candidate, 0, {}, ""};
  d.fork_server_pid = fork_server_pid();
  if (trouble_ && !overcome(*trouble_, pool, policy_.pool.stable_after, now())) {
    d.boot_error = trouble_->cause;
    d.boot_error_at = trouble_->wall;
    d.boot_error_age = now() - trouble_->at;
  }
  d.loads = generations_.state().state == LoadState::loading;
  for (const Worker& worker : pool.workers) d.workers.push_back(describe(worker));
  d.waiting_slots = waiting_slots(pool, now());
  std::ranges::sort(d.workers, {}, [](const WorkerDescription& w) { return std::pair(w.slot.value_or(~0u), w.id); });
  return d;
}

WorkerDescription Supervisor::describe(const Worker& worker) const {
  const Attached& attached = attached_.at(worker.id);
  WorkerDescription d{.id = worker.id,
                      .slot = worker.slot,
                      .pid = attached.link->pid(),
                      .state = worker.state,
                      .generation = worker.generation,
                      .in_state = now() - worker.since,
                      .status = attached.status};
  if (attached.ready_at) d.uptime = now() - *attached.ready_at;
  if (const ScoreboardMemory* board = attached.link->scoreboard()) {
    const auto started = board->read(ScoreboardField::requests_started) + board->read(ScoreboardField::calls_started);
    d.requests = board->read(ScoreboardField::requests_finished);
    const auto finished = d.requests + board->read(ScoreboardField::calls_finished);
    d.in_flight = started > finished ? started - finished : 0;
    d.open_connections = board->read(ScoreboardField::open_connections);
    d.upgraded_connections = board->read(ScoreboardField::upgraded_connections);
    d.responses_5xx = board->read(ScoreboardField::responses_5xx);
  }
  return d;
}
}  // namespace moult
