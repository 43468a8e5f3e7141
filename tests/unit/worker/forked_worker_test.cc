#include "worker/forked_worker.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cstring>
#include <set>

namespace moult {
namespace {
using Kind = WorkerMessage::Kind;

WorkerSettings settings() {
  WorkerSettings given;
  given.listeners.push_back({7, "127.0.0.1:8000", "inet"});
  given.internal_fd = 9;
  given.sidecar_fd = 10;
  given.server_options["color"] = "blue";
  given.settings["keep_alive_seconds"] = "75";
  given.idle_ignore = {"/healthz", "/"};
  return given;
}

struct Under {
  Under() : Under(*Channel::pair()) {}
  explicit Under(std::pair<Channel, UniqueFd> ends)
      : master(std::move(ends.first)),
        worker(Channel(std::move(ends.second)), *ScoreboardMemory::open(UniqueFd(::dup(scoreboard.fd()))), settings(),
               2) {}
  ScoreboardMemory scoreboard = *ScoreboardMemory::create();
  Channel master;
  ForkedWorker worker;
};

struct WorkerOverAChannel : testing::Test, Under {
  Received heard() {
    Receipt receipt = master.receive();
    if (auto* received = std::get_if<Received>(&receipt)) return std::move(*received);
    return {.message = Error{"nothing"}, .fds = {}};
  }
  bool nothing_heard() { return std::holds_alternative<NothingNow>(master.receive()); }
  void tell(const Message& message, int fd = -1) {
    const auto sent = master.send(message, {&fd, fd >= 0 ? 1u : 0u});
    ASSERT_TRUE(sent && *sent == Sent::sent);
  }
  // Nothing is read by the master until the worker's messages pile up.
  void fill_the_channel() {
    while (worker.channel_events() == POLLIN) ASSERT_TRUE(worker.status(std::string(1000, 'x').c_str()));
  }
};

// A client's connection: the worker's end, and the client, who notices if it is closed.
struct Client {
  UniqueFd client, connection;
  Client() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) std::abort();
    client.reset(ends[0]);
    connection.reset(ends[1]);
  }
  bool sees_end() const {
    char byte = 0;
    return ::recv(client.get(), &byte, 1, 0) == 0;
  }
  bool hears_from(int fd) const {
    char byte = 0;
    return ::send(fd, "x", 1, MSG_NOSIGNAL) == 1 && ::recv(client.get(), &byte, 1, 0) == 1;
  }
};

TEST_F(WorkerOverAChannel, KnowsWhatItWasGiven) {
  const WorkerContext& context = worker;
  EXPECT_EQ(context.slot(), 2u);
  ASSERT_EQ(context.listener_count(), 1u);
  EXPECT_EQ(context.listener(0).fd, 7);
  EXPECT_STREQ(context.listener(0).address, "127.0.0.1:8000");
  EXPECT_EQ(context.listener(1).fd, -1);
  EXPECT_EQ(context.internal_fd(), 9);
  EXPECT_EQ(context.sidecar_fd(), 10);
  EXPECT_STREQ(context.server_option("color"), "blue");
  EXPECT_EQ(context.server_option("shape"), nullptr);
  EXPECT_STREQ(context.setting("keep_alive_seconds"), "75");
}

TEST_F(WorkerOverAChannel, KnowsAHealthCheck) {
  const WorkerContext& context = worker;
  for (const auto& [method, target] : {std::pair{"GET", "/healthz"}, {"HEAD", "/healthz?a=/b?c"}, {"GET", "/"}})
    EXPECT_TRUE(context.is_ignored(method, target)) << target;
  for (const auto& [method, target] :
       {std::pair{"POST", "/healthz"}, {"GET", "/healthz/"}, {"GET", "/%68ealthz"}, {"GET", ""}, {"", "/"}})
    EXPECT_FALSE(context.is_ignored(method, target)) << target;
}

TEST_F(WorkerOverAChannel, SaysWhatTheContractNames) {
  EXPECT_TRUE(worker.ready(WorkerDrain::handover));
  EXPECT_TRUE(worker.status("busy\nREADY=1"));
  EXPECT_TRUE(worker.next_due(1'700'000'000));
  EXPECT_TRUE(worker.stopping());
  EXPECT_EQ(*heard().message, (Message{{"READY", "1"}, {"DRAIN", "handover"}}));
  EXPECT_EQ(*heard().message, (Message{{"STATUS", "busy READY=1"}}));
  EXPECT_EQ(*heard().message, (Message{{"NEXT_DUE", "1700000000"}}));
  EXPECT_EQ(*heard().message, (Message{{"STOPPING", "1"}}));
  EXPECT_EQ(worker.unsettled(), 0u);
}

TEST_F(WorkerOverAChannel, ShowsItsHeartbeatAndItsConnections) {
  worker.heartbeat();
  worker.connections(5, 2);
  EXPECT_GT(scoreboard.read(ScoreboardField::heartbeat_ns), 0u);
  EXPECT_EQ(scoreboard.read(ScoreboardField::open_connections), 5u);
  EXPECT_EQ(scoreboard.read(ScoreboardField::upgraded_connections), 2u);
  worker.request_finished(worker.request_started(WorkerContext::Caller::visitor), 200);
  EXPECT_EQ(scoreboard.read(ScoreboardField::requests_finished), 1u);
}

TEST_F(WorkerOverAChannel, HearsRetireWithItsDeadlineInNanoseconds) {
  EXPECT_EQ(worker.next_message().kind, Kind::nothing);
  tell({{"RETIRE", "1"}, {"DEADLINE_USEC", "5000001"}});
  const WorkerMessage message = worker.next_message();
  EXPECT_EQ(message.kind, Kind::retire);
  EXPECT_EQ(message.deadline_ns, 5'000'001'000u);
  tell({{"RETIRE", "1"}});
  EXPECT_EQ(worker.next_message().deadline_ns, UINT64_MAX);
}

TEST_F(WorkerOverAChannel, HearsWhetherOthersTakeWhatItGivesUp) {
  tell({{"RETIRE", "1"}, {"DEADLINE_USEC", "5000001"}});
  EXPECT_TRUE(worker.next_message().parking);
  tell({{"RETIRE", "1"}, {"DEADLINE_USEC", "5000001"}, {"PARKING", "0"}});
  EXPECT_FALSE(worker.next_message().parking);
}

TEST_F(WorkerOverAChannel, HearsThatItsAnswersAreToEndTheirConnections) {
  tell({{"ANNOUNCE_CLOSE", "1"}});
  EXPECT_EQ(worker.next_message().kind, Kind::announce_close);
}

TEST_F(WorkerOverAChannel, PassesOverWhatItDoesNotUnderstand) {
  tell({{"NEWS", "1"}});
  tell({{"HELD", "77"}});
  tell({{"DECLINED", "-1"}});
  ASSERT_EQ(::send(master.fd(), "nonsense", 8, 0), 8);
  tell({{"RETIRE", "1"}});
  EXPECT_EQ(worker.next_message().kind, Kind::retire);
}

TEST_F(WorkerOverAChannel, KeepsAConnectionOpenUntilTheMasterHasIt) {
  Client client;
  const std::uint64_t id = worker.hand_over(client.connection.release());
  ASSERT_NE(id, 0u);
  EXPECT_EQ(worker.unsettled(), 1u);
  Received stored = heard();
  EXPECT_EQ(stored.message->find_number<std::uint64_t>("FDSTORE"), id);
  ASSERT_EQ(stored.fds.size(), 1u);
  tell(Message{}.add("HELD", id));
  const WorkerMessage message = worker.next_message();
  EXPECT_EQ(message.kind, Kind::held);
  EXPECT_EQ(message.connection, id);
  EXPECT_EQ(worker.unsettled(), 0u);
  EXPECT_TRUE(client.hears_from(stored.fds[0].get()));
  stored.fds.clear();
  EXPECT_TRUE(client.sees_end()) << "the worker still holds it";
}

TEST_F(WorkerOverAChannel, ResumesAConnectionThatTheMasterDeclines) {
  Client client;
  const std::uint64_t id = worker.hand_over(client.connection.release());
  { const Received dropped = heard(); }
  tell(Message{}.add("DECLINED", id));
  const WorkerMessage message = worker.next_message();
  EXPECT_EQ(message.kind, Kind::declined);
  EXPECT_EQ(message.connection, id);
  EXPECT_TRUE(client.hears_from(message.fd));
  ::close(message.fd);
}

TEST_F(WorkerOverAChannel, GivesEveryUnacknowledgedConnectionBackWhenTheMasterIsGone) {
  Client held, one, other;
  const std::uint64_t held_id = worker.hand_over(held.connection.release());
  std::set<std::uint64_t> ids{worker.hand_over(one.connection.release()), worker.hand_over(other.connection.release())};
  tell(Message{}.add("HELD", held_id));
  { const Channel closed = std::move(master); }
  EXPECT_EQ(worker.next_message().kind, Kind::held);
  for (int i = 0; i < 2; ++i) {
    const WorkerMessage message = worker.next_message();
    EXPECT_EQ(message.kind, Kind::declined);
    EXPECT_EQ(ids.erase(message.connection), 1u);
    EXPECT_TRUE(one.hears_from(message.fd) || other.hears_from(message.fd));
    ::close(message.fd);
  }
  EXPECT_EQ(worker.next_message().kind, Kind::master_gone);
  EXPECT_EQ(worker.next_message().kind, Kind::nothing);
  EXPECT_EQ(worker.unsettled(), 0u);
  Client late;
  EXPECT_EQ(worker.hand_over(late.connection.get()), 0u);
  EXPECT_TRUE(late.hears_from(late.connection.get()));
}

TEST_F(WorkerOverAChannel, TakesACustodyFullOfConnectionsAndNotOneMore) {
  const Client client;
  for (std::size_t i = 0; i < max_connections_in_custody; ++i)
    ASSERT_NE(worker.hand_over(::dup(client.connection.get())), 0u);
  const UniqueFd one_more(::dup(client.connection.get()));
  EXPECT_EQ(worker.hand_over(one_more.get()), 0u);
  EXPECT_TRUE(client.hears_from(one_more.get())) << "it was closed, though it stays the app's";
}

TEST_F(WorkerOverAChannel, DeclinesConnectionsUntilItWantsThemAndAfterRetire) {
  const Client client;
  tell({{"ADOPT", "5"}}, client.connection.get());
  EXPECT_EQ(worker.next_message().kind, Kind::nothing);
  EXPECT_EQ(heard().message->find("DECLINED"), "5");
  worker.take_connections(true);
  tell({{"RETIRE", "1"}});
  tell({{"ADOPT", "6"}}, client.connection.get());
  EXPECT_EQ(worker.next_message().kind, Kind::retire);
  worker.take_connections(true);
  EXPECT_EQ(worker.next_message().kind, Kind::nothing);
  EXPECT_EQ(heard().message->find("DECLINED"), "6");
}

TEST_F(WorkerOverAChannel, AcknowledgesAConnectionBeforeTheAppCanReadFromIt) {
  Client client;
  worker.take_connections(true);
  fill_the_channel();
  tell({{"ADOPT", "5"}}, client.connection.get());
  EXPECT_EQ(worker.next_message().kind, Kind::nothing) << "its acknowledgement is not sent yet";
  EXPECT_EQ(worker.channel_events(), POLLIN | POLLOUT);
  Received last = heard();
  for (; last.message->has("STATUS"); last = heard()) worker.heartbeat();
  EXPECT_EQ(last.message->find("ADOPTED"), "5");
  const WorkerMessage message = worker.next_message();
  EXPECT_EQ(message.kind, Kind::adopt);
  client.connection.reset();
  EXPECT_TRUE(client.hears_from(message.fd));
  ::close(message.fd);
}

TEST_F(WorkerOverAChannel, KeepsWhatItSaysInOrderWhileTheMasterIsBehind) {
  Client client;
  fill_the_channel();
  const std::uint64_t id = worker.hand_over(client.connection.release());
  ASSERT_NE(id, 0u);
  EXPECT_TRUE(worker.stopping());
  EXPECT_EQ(worker.unsettled(), 4u) << "the status that did not fit, FDSTORE, STOPPING and the connection";
  Received next = heard();
  for (; next.message->has("STATUS"); next = heard()) worker.heartbeat();
  EXPECT_EQ(next.message->find_number<std::uint64_t>("FDSTORE"), id);
  EXPECT_EQ(next.fds.size(), 1u);
  EXPECT_TRUE(heard().message->has("STOPPING"));
  EXPECT_TRUE(nothing_heard());
}

TEST_F(WorkerOverAChannel, TakesABoundedNumberOfMessagesFromAnAppThatNeverStops) {
  std::size_t taken = 0;
  while (worker.status("x")) ASSERT_LT(++taken, max_waiting_messages + 10'000);
  EXPECT_GE(taken, max_waiting_messages);
  EXPECT_EQ(worker.hand_over(0), 0u);
}

// The receiver's table is full, so that the kernel drops what was passed. It says DECLINED; the sender has its own.
TEST_F(WorkerOverAChannel, LosesNothingWhenItsTableIsFull) {
  const Client client;
  worker.take_connections(true);
  tell({{"ADOPT", "5"}}, client.connection.get());
  const pid_t child = ::fork();
  if (child == 0) {
    const int next_free = ::dup(0);
    ::close(next_free);
    const rlimit full{static_cast<rlim_t>(next_free), static_cast<rlim_t>(next_free)};
    ::setrlimit(RLIMIT_NOFILE, &full);
    ::_exit(worker.next_message().kind == Kind::nothing ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(heard().message->find("DECLINED"), "5");
  EXPECT_TRUE(client.hears_from(client.connection.get()));
}

TEST_F(WorkerOverAChannel, LosesNothingWhenTheMastersTableIsFull) {
  Client client;
  const std::uint64_t id = worker.hand_over(client.connection.release());
  const pid_t child = ::fork();
  if (child == 0) {
    const int next_free = ::dup(0);
    ::close(next_free);
    const rlimit full{static_cast<rlim_t>(next_free), static_cast<rlim_t>(next_free)};
    ::setrlimit(RLIMIT_NOFILE, &full);
    const Received lost = heard();
    if (!lost.fds_lost || !lost.message) ::_exit(1);
    const auto sent = master.send(Message{}.add("DECLINED", *lost.message->find_number<std::uint64_t>("FDSTORE")));
    ::_exit(sent && *sent == Sent::sent ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const WorkerMessage message = worker.next_message();
  EXPECT_EQ(message.kind, Kind::declined);
  EXPECT_EQ(message.connection, id);
  EXPECT_TRUE(client.hears_from(message.fd));
  ::close(message.fd);
}
}  // namespace
}  // namespace moult
