#include "master/launch/channel_link.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <utility>

#include "base/machine.h"
#include "master/launch/child_settings.h"
#include "master/launch/launch_failure.h"
#include "worker/fork_protocol.h"
namespace moult {
namespace {
std::optional<Drain> drain_named(std::string_view name) {
  if (name == "handover") return Drain::handover;
  if (name == "close") return Drain::close;
  if (name == "own") return Drain::own;
  return std::nullopt;
}

// Empty: it was lost on the way, or others came with it.
UniqueFd the_one(Received& received) {
  const bool whole = received.fds.size() == 1 && !received.fds_lost;
  return whole ? std::move(received.fds.front()) : UniqueFd();
}

// Tried only: a system that does not let us is no reason to refuse a worker.
void prefer_for_oom(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/oom_score_adj";
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const std::string digits = std::to_string(oom_score_adj_above_ours(worker_oom_score_above_ours));
  if (file) [[maybe_unused]]
    const ssize_t written = ::write(file.get(), digits.data(), digits.size());
}
}  // namespace

ChannelLink::ChannelLink(uv_loop_t* loop, Orphans& orphans, ChannelLinkHome& home, WorkerId id, LinkEvents events)
    : loop_(loop), orphans_(orphans), home_(home), id_(id), events_(std::move(events)), later_(loop) {}

ChannelLink::~ChannelLink() {
  release_born();
  home_.forget(id_);
}

Result<void> ChannelLink::attach(WorkerEnds ends) {
  scoreboard_ = std::move(ends.scoreboard);
  output_ = std::move(ends.output);
  auto port = ChannelPort::open(
      loop_, std::move(ends.channel),
      {.received = [this](Received r) { received(std::move(r)); }, .ended = [this] { channel_ended(); }});
  if (!port) return port.error();
  port_ = std::move(*port);
  return {};
}

void ChannelLink::fail(Exit exit) { finish(std::move(exit)); }

void ChannelLink::forked(pid_t pid) {
  if (state_ != State::awaited || born_ != 0 || orphans_.is_claimed(pid)) return;
  born_ = pid;
  orphans_.claim(pid, [this] { died_before_hello(); });
  if (port_->ended()) channel_ended();
}

void ChannelLink::read_hello() {
  if (port_ && state_ == State::awaited) port_->read_all();
}

// --- what it says

void ChannelLink::received(Received received) {
  if (state_ == State::over || state_ == State::unheard) return;
  if (state_ == State::awaited) return hello(received);
  if (!received.sender || received.sender->pid != pid_) return home_.count_refused_message();
  if (!received.message) return refuse(received.message.error().message);
  heard(*received.message);
  heard_of_connections(received);
}

void ChannelLink::hello(const Received& received) {
  if (!received.message) return refuse(received.message.error().message);
  if (!received.sender || !received.message->has("HELLO")) return refuse("its first message is not HELLO");
  release_born();
  auto process = ChildProcess::own(loop_, orphans_, received.sender->pid,
                                   {.dying =
                                        [this] {
                                          if (port_) port_->read_all();
                                        },
                                    .exited = [this](const Exit& exit) { finish(exit); }});
  if (!process) return refuse("its HELLO: " + process.error().message);
  process_ = std::move(*process);
  state_ = State::known;
  pid_ = process_->pid();
  ::setpgid(pid_, pid_);  // if it did not do so itself
  prefer_for_oom(pid_);
  if (const auto version = received.message->find_number<std::uint64_t>("HELLO"); version != contract_version) {
    state_ = State::unheard;
    return refuse("it speaks version " + std::string(*received.message->find("HELLO")) +
                  " of the contract, moult speaks " + std::to_string(contract_version));
  }
  if (events_.started) events_.started(id_, pid_);
  heard(*received.message);
}

void ChannelLink::heard(const Message& message) {
  if (const auto error = message.find("ERROR")) error_ = unescape(*error);
  if (message.has("WATCHDOG")) watchdog_at_ = monotonic_now(loop_);
  if (message.has("STOPPING")) {
    stopping_said_ = true;
    if (events_.stopping) events_.stopping(id_);
  }
  if (const auto status = message.find("STATUS"); status && events_.status) events_.status(id_, std::string(*status));
  if (const auto due = message.find("NEXT_DUE"); due && events_.next_due) events_.next_due(id_, std::string(*due));
  if (message.has("PARKED") && events_.parked) events_.parked(id_);
  if (message.has("READY")) ready(message);
}

void ChannelLink::heard_of_connections(Received& received) {
  const Message& message = *received.message;
  if (const auto number = message.find_number<std::uint64_t>("FDSTORE")) stored(*number, received);
  else if (message.has("FDSTORE")) return refuse("FDSTORE is no number");
  else if (const auto closes = message.find_number<std::uint64_t>("FDCLOSE")) closing(*closes, received);
  else if (message.has("FDCLOSE")) return refuse("FDCLOSE is no number");
  const auto adopted = message.find_number<std::uint64_t>("ADOPTED"),
             declined = message.find_number<std::uint64_t>("DECLINED");
  // Who answers before it was asked is not asked: the descriptor may be closed by then, and its number another's.
  // Zero is no connection: it is the tag of everything else that waits there.
  for (const auto& answered : {adopted, declined})
    if (answered.value_or(0) != 0) port_->withdraw(*answered);
  if (adopted && events_.connections.adopted) events_.connections.adopted(id_, {*adopted});
  if (declined && events_.connections.declined) events_.connections.declined(id_, {*declined});
}

// One that was lost on the way is declined like one that nobody wants: the worker still has its own.
void ChannelLink::stored(std::uint64_t its_number, Received& received) {
  if (!events_.connections.stored) return decline(its_number);
  events_.connections.stored(id_, its_number, the_one(received));
}

void ChannelLink::closing(std::uint64_t its_number, Received& received) {
  if (!events_.connections.closing) return decline(its_number);
  events_.connections.closing(id_, its_number, the_one(received));
}

void ChannelLink::ready(const Message& message) {
  const std::string_view name = message.find("DRAIN").value_or("close");
  const auto drain = drain_named(name);
  if (!drain) return refuse("DRAIN is none of handover, close, own");
  if (std::exchange(ready_said_, true)) return;
  hands_over_ = *drain == Drain::handover;
  if (events_.ready) events_.ready(id_, *drain);
}

void ChannelLink::refuse(const std::string& what) {
  home_.count_refused_message();
  if (!refusal_.empty()) return;
  refusal_ = what;
  if (events_.refused) events_.refused(id_, what);
  if (!process_) give_up();
}

// --- what is asked of it

bool ChannelLink::tell(Message message) {
  return port_ && !port_->ended() && static_cast<bool>(port_->send(std::move(message)));
}

void ChannelLink::go(unsigned slot) {
  output_.rename(worker_prefix(slot));
  home_.takes_slot(id_, slot);
  tell({{"GO", "1"}, {"SLOT", std::to_string(slot)}});
}

void ChannelLink::retire(MonotonicTime deadline, Adopters adopters) {
  if (!process_) return give_up();
  const auto at = std::chrono::duration_cast<std::chrono::microseconds>(deadline.time_since_epoch()).count();
  Message order{{"RETIRE", "1"}, {"DEADLINE_USEC", std::to_string(at)}};
  if (adopters == Adopters::none) order.add("PARKING", "0");
  if (!tell(std::move(order))) signal(SIGTERM);
}

void ChannelLink::signal(int signal_number) {
  if (process_) process_->signal(signal_number);
  else give_up();
}

void ChannelLink::reopen_logs() {
  if (process_) process_->signal(SIGUSR1);
}

std::optional<MonotonicTime> ChannelLink::heartbeat() const {
  std::optional<MonotonicTime> latest = watchdog_at_;
  const std::uint64_t written = scoreboard_ ? scoreboard_->read(ScoreboardField::heartbeat_ns) : 0;
  if (written != 0) {
    const MonotonicTime beat{Duration(static_cast<Duration::rep>(written))};
    if (!latest || *latest < beat) latest = beat;
  }
  return latest;
}

bool ChannelLink::adopts() const {
  return hands_over_ && !stopping_said_ && state_ == State::known && port_ && !port_->ended();
}

bool ChannelLink::adopt(ConnectionId connection, int fd) {
  return adopts() && static_cast<bool>(port_->lend(Message{}.add("ADOPT", connection.value), fd, connection.value));
}

void ChannelLink::hold(std::uint64_t its_number) {
  ++handed_over_;
  tell(Message{}.add("HELD", its_number));
}

void ChannelLink::take_to_close(std::uint64_t its_number) { tell(Message{}.add("HELD", its_number)); }

void ChannelLink::decline(std::uint64_t its_number) { tell(Message{}.add("DECLINED", its_number)); }

// --- how it ends

// It may be dead, or about to be, or not our child yet: Orphans finds it when it is both.
void ChannelLink::channel_ended() {
  if (state_ == State::known && events_.connections.ended) events_.connections.ended(id_);
  if (state_ != State::awaited) return;
  if (born_ == 0) finish(launch_failure("fork", 0, "it ended before it said HELLO"));
  else died_before_hello();
}

void ChannelLink::died_before_hello() {
  if (port_) port_->read_all();  // its HELLO may wait there
  if (process_) return process_->settle();
  if (state_ == State::over) return;
  auto exit = reap_if_dead(born_);
  if (!exit) return;
  release_born();
  exit->cause = "it ended before it said HELLO";
  finish(*std::move(exit));
}

void ChannelLink::release_born() {
  if (const pid_t born = std::exchange(born_, 0)) orphans_.release(born);
}

// Whoever may yet be forked for it finds its channel closed, and exits before it touches a listener.
void ChannelLink::give_up() { finish(launch_failure("fork", 0, "it was given up before it said HELLO")); }

void ChannelLink::finish(Exit exit) {
  if (std::exchange(state_, State::over) == State::over) return;
  release_born();
  if (exit.cause.empty() || !refusal_.empty()) exit.cause = !error_.empty() ? error_ : refusal_;
  if (process_) home_.exited(id_, pid_);
  else home_.withdraw(id_);
  later_.run([this, exit = std::move(exit)] {
    port_.reset();
    output_ = {};                    // what it wrote last is read here
    const auto gone = events_.gone;  // a copy: it may destroy us
    gone(id_, exit);
  });
}
}  // namespace moult
