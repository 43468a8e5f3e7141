#include "worker/forked_worker.h"

#include <poll.h>

#include <algorithm>
#include <ctime>
namespace moult {
namespace {
std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

const char* drain_name(WorkerDrain drain) {
  switch (drain) {
    case WorkerDrain::handover: return "handover";
    case WorkerDrain::close: return "close";
    case WorkerDrain::own: return "own";
  }
  return "close";  // a number that an app made up
}

const char* text_of(const std::map<std::string, std::string, std::less<>>& texts, const char* name) {
  const auto found = texts.find(std::string_view(name));
  return found == texts.end() ? nullptr : found->second.c_str();
}
}  // namespace

ForkedWorker::ForkedWorker(Channel channel, ScoreboardMemory scoreboard, WorkerSettings settings, unsigned slot)
    : channel_(std::move(channel)), scoreboard_(std::move(scoreboard)), settings_(std::move(settings)), slot_(slot) {}

bool ForkedWorker::park() {
  say({{"PARKED", "1"}});
  while (!gone_) {
    Receipt receipt = channel_.receive();
    if (std::holds_alternative<NothingNow>(receipt)) {
      pollfd waiting{channel_.fd(), channel_events(), 0};
      ::poll(&waiting, 1, -1);
      outbox_.flush();
      continue;
    }
    const auto* received = std::get_if<Received>(&receipt);
    if (!received || !received->message || received->message->has("RETIRE")) return false;
    if (!received->message->has("GO")) continue;
    slot_ = received->message->find_number<unsigned>("SLOT").value_or(0);
    return true;
  }
  return false;
}

WorkerListener ForkedWorker::listener(std::size_t index) const {
  if (index >= settings_.listeners.size()) return {-1, "", ""};
  const auto& listener = settings_.listeners[index];
  return {listener.fd, listener.address.c_str(), listener.family.c_str()};
}

const char* ForkedWorker::server_option(const char* name) const { return text_of(settings_.server_options, name); }
const char* ForkedWorker::setting(const char* name) const { return text_of(settings_.settings, name); }

bool ForkedWorker::is_ignored(const char* method, const char* target) const {
  const std::string_view verb(method), asked(target);
  if (verb != "GET" && verb != "HEAD") return false;
  return std::ranges::find(settings_.idle_ignore, asked.substr(0, asked.find('?'))) != settings_.idle_ignore.end();
}

bool ForkedWorker::ready(WorkerDrain drain) { return say({{"READY", "1"}, {"DRAIN", drain_name(drain)}}); }
bool ForkedWorker::stopping() { return say({{"STOPPING", "1"}}); }
bool ForkedWorker::status(const char* text) { return say({{"STATUS", one_line(text)}}); }
bool ForkedWorker::next_due(std::int64_t unix_seconds) { return say({{"NEXT_DUE", std::to_string(unix_seconds)}}); }

void ForkedWorker::heartbeat() {
  scoreboard_.write(ScoreboardField::heartbeat_ns, now_ns());
  outbox_.flush();  // what could not be sent for want of memory or fds is tried again here
}

WorkerContext::Request ForkedWorker::request_started(Caller caller) { return requests_.started(caller, now_ns()); }

void ForkedWorker::request_finished(Request request, int http_status) {
  requests_.finished(request, http_status, now_ns());
}

void ForkedWorker::connections(std::size_t open, std::size_t upgraded) {
  scoreboard_.write(ScoreboardField::open_connections, open);
  scoreboard_.write(ScoreboardField::upgraded_connections, upgraded);
}

std::uint64_t ForkedWorker::hand_over(int fd) {
  if (gone_ || outbox_.size() >= max_waiting_messages) return 0;
  const ConnectionId id{last_connection_ + 1};
  UniqueFd kept(fd);
  if (!custody_.keep(id, kept)) {
    kept.release();
    return 0;
  }
  last_connection_ = id.value;
  say(Message{}.add("FDSTORE", id.value), id);
  return id.value;
}

bool ForkedWorker::say(Message message, ConnectionId connection) {
  const bool taken = outbox_.put(std::move(message), connection) != 0;
  outbox_.flush();
  return taken;
}

short ForkedWorker::channel_events() const { return static_cast<short>(POLLIN | (outbox_.blocked() ? POLLOUT : 0)); }

WorkerMessage ForkedWorker::next_message() {
  outbox_.flush();
  while (true) {
    if (!adoptions_.empty() && outbox_.last_sent() >= adoptions_.front().acknowledgement) {
      const int fd = adoptions_.front().fd.release();
      adoptions_.pop_front();
      return {.kind = WorkerMessage::Kind::adopt, .fd = fd};
    }
    if (gone_) return after_the_end();
    Receipt receipt = channel_.receive();
    if (std::holds_alternative<NothingNow>(receipt)) return {};
    if (auto* received = std::get_if<Received>(&receipt)) {
      const WorkerMessage message = understand(*received);
      if (message.kind != WorkerMessage::Kind::nothing) return message;
    } else {
      gone_ = true;
      returned_ = custody_.take_all();
    }
  }
}

// Connections that the master did not acknowledge are the app's again, one a call; then the end is said once.
WorkerMessage ForkedWorker::after_the_end() {
  if (!returned_.empty()) {
    const auto [id, fd] = std::pair(returned_.back().first, returned_.back().second.release());
    returned_.pop_back();
    return {.kind = WorkerMessage::Kind::declined, .connection = id.value, .fd = fd};
  }
  if (std::exchange(gone_said_, true)) return {};
  return {.kind = WorkerMessage::Kind::master_gone};
}

// Unknown keys and unreadable messages are passed over: a master that says more than this worker knows is newer.
WorkerMessage ForkedWorker::understand(Received& received) {
  if (!received.message) return {};
  const Message& message = *received.message;
  if (message.has("RETIRE")) {
    retiring_ = true;
    takes_connections_ = false;
    const auto deadline_usec = message.find_number<std::uint64_t>("DEADLINE_USEC");
    const bool has_one = deadline_usec && *deadline_usec < UINT64_MAX / 1000;
    return {.kind = WorkerMessage::Kind::retire,
            .deadline_ns = has_one ? *deadline_usec * 1000 : UINT64_MAX,
            .parking = message.find("PARKING") != "0"};
  }
  if (message.has("ANNOUNCE_CLOSE")) return {.kind = WorkerMessage::Kind::announce_close};
  if (const auto id = message.find_number<std::uint64_t>("HELD"); id && custody_.acknowledged({*id}))
    return {.kind = WorkerMessage::Kind::held, .connection = *id};
  if (const auto id = message.find_number<std::uint64_t>("DECLINED"))
    if (UniqueFd fd = custody_.declined({*id}))
      return {.kind = WorkerMessage::Kind::declined, .connection = *id, .fd = fd.release()};
  if (const auto id = message.find_number<std::uint64_t>("ADOPT")) adopt({*id}, received);
  return {};
}

// A descriptor that was lost on the way is declined like one that is not wanted: the master still has its own.
void ForkedWorker::adopt(ConnectionId id, Received& received) {
  if (!takes_connections_ || received.fds.size() != 1) {
    outbox_.put(Message{}.add("DECLINED", id.value));
    return outbox_.flush();
  }
  const std::uint64_t number = outbox_.put(Message{}.add("ADOPTED", id.value));
  if (number != 0) adoptions_.push_back({std::move(received.fds.front()), number});
  outbox_.flush();
}
}  // namespace moult
