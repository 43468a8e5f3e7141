// The example app, served by a worker of the native fork server, from the first request to its retirement.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <stdexcept>

#include "base/clock.h"
#include "tests/unit/worker/playing_master.h"

namespace moult::testing_native {
namespace {
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Door {
  UniqueFd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  Door() {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        ::listen(listener.get(), 64) != 0 ||
        ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
      throw std::runtime_error("cannot listen");
  }
};

class Client {
 public:
  explicit Client(const Door& door) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{10, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&door.address), sizeof door.address) != 0)
      throw std::runtime_error("cannot connect");
  }
  void say(const std::string& text) { ASSERT_EQ(::send(socket_.get(), text.data(), text.size(), 0), ssize(text)); }
  void get(const std::string& path) { say("GET " + path + " HTTP/1.1\r\nHost: test\r\n\r\n"); }
  // One response with its body, or what came before the end.
  std::string answer() {
    std::string head;
    while (!head.ends_with("\r\n\r\n")) {
      char byte = 0;
      if (::recv(socket_.get(), &byte, 1, 0) != 1) return head + "(end)";
      head += byte;
    }
    const std::size_t field = head.find("Content-Length: ");
    std::string body(std::stoul(head.substr(field + 16)), '\0');
    if (!body.empty() && ::recv(socket_.get(), body.data(), body.size(), MSG_WAITALL) != ssize(body)) return "(short)";
    return head + body;
  }
  bool hears(const std::string& text) {
    std::string heard(text.size(), '\0');
    return ::recv(socket_.get(), heard.data(), heard.size(), MSG_WAITALL) == ssize(text) && heard == text;
  }
  bool ended() {
    char byte = 0;
    return ::recv(socket_.get(), &byte, 1, 0) == 0;
  }

 private:
  static ssize_t ssize(const std::string& text) { return static_cast<ssize_t>(text.size()); }
  UniqueFd socket_;
};

std::uint64_t usec_in_ten_seconds() {
  const auto end = MonotonicTime::clock::now() + std::chrono::seconds(10);
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(end.time_since_epoch()).count());
}

struct NativeExample : testing::Test {
  Door door, internal, sidecar;
  PlayingServer server{{.app = example_app(),
                        .listeners = {door.listener.get()},
                        .internal_fd = internal.listener.get(),
                        .sidecar_fd = sidecar.listener.get()}};
  Message loaded = next_message(server.channel());
  PlayingWorker worker = PlayingWorker::born(server, 1, 4);
  Message ready = next_message(worker.channel);

  std::uint64_t operator[](ScoreboardField field) const { return worker.scoreboard.read(field); }
  // The count follows the last byte of an answer, so a client may be ahead of it.
  void expect_soon(ScoreboardField field, std::uint64_t value) {
    for (int look = 0; look < 10'000 && (*this)[field] != value; ++look) ::poll(nullptr, 0, 1);
    EXPECT_EQ((*this)[field], value);
  }
  void say(const Message& message) { ASSERT_TRUE(worker.channel.send(message)); }
  void retire(std::uint64_t deadline_usec = usec_in_ten_seconds()) {
    ASSERT_TRUE(worker.channel.send(Message{{"RETIRE", "1"}}.add("DEADLINE_USEC", deadline_usec)));
  }
  void retire_as_the_last() {
    Message order{{"RETIRE", "1"}, {"PARKING", "0"}};
    ASSERT_TRUE(worker.channel.send(order.add("DEADLINE_USEC", usec_in_ten_seconds())));
    EXPECT_TRUE(next_message(worker.channel).has("STOPPING"));
  }
};

TEST_F(NativeExample, ServesManyRequestsOnOneConnectionAndCountsThem) {
  EXPECT_EQ(ready, (Message{{"READY", "1"}, {"DRAIN", "handover"}}));
  Client client(door);
  client.get("/");
  EXPECT_EQ(client.answer(), "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nhello\n");
  client.get("/pid");
  EXPECT_THAT(client.answer(), EndsWith("\r\n\r\n" + std::to_string(worker.pid) + "\n"));
  client.get("/preload");
  EXPECT_THAT(client.answer(), EndsWith("\r\n\r\n" + std::to_string(server.pid()) + "\n"));
  client.get("/slot");
  EXPECT_THAT(client.answer(), EndsWith("\r\n\r\n4\n"));
  client.get("/fail");
  EXPECT_THAT(client.answer(), StartsWith("HTTP/1.1 500 "));
  expect_soon(ScoreboardField::requests_finished, 5);
  EXPECT_EQ((*this)[ScoreboardField::requests_started], 5u);
  EXPECT_EQ((*this)[ScoreboardField::responses_5xx], 1u);
  EXPECT_EQ((*this)[ScoreboardField::calls_started], 0u);
  EXPECT_GT((*this)[ScoreboardField::heartbeat_ns], 0u);
  expect_soon(ScoreboardField::open_connections, 1);
}

TEST_F(NativeExample, ServesTheSidecarAndCountsNothingOfIt) {
  Client beside(sidecar);
  for (int i = 0; i < 2; ++i) {
    beside.get("/");
    EXPECT_THAT(beside.answer(), StartsWith("HTTP/1.1 200 "));
  }
  Client visitor(door);
  visitor.get("/");
  visitor.answer();
  expect_soon(ScoreboardField::requests_finished, 1);
  EXPECT_EQ((*this)[ScoreboardField::requests_started], 1u);
  EXPECT_EQ((*this)[ScoreboardField::calls_started], 0u);
  expect_soon(ScoreboardField::open_connections, 1);
}

TEST_F(NativeExample, WaitsForNoSidecarWhenItRetires) {
  Client idle(sidecar), busy(sidecar);
  idle.get("/");
  idle.answer();
  busy.get("/slow");  // a second, and so much it has
  retire();
  EXPECT_TRUE(idle.ended());
  EXPECT_TRUE(next_message(worker.channel).has("STOPPING"));
  await_end(worker.channel);
}

TEST_F(NativeExample, AnswersAHealthCheckWhichIsNoActivity) {
  Client client(door);
  client.get("/healthz");
  client.answer();
  expect_soon(ScoreboardField::requests_finished, 1);
  EXPECT_EQ((*this)[ScoreboardField::requests_started], 1u);
  EXPECT_EQ((*this)[ScoreboardField::last_visitor_activity_ns], 0u);
}

TEST_F(NativeExample, TakesSplitPipelinedAndLargeRequests) {
  Client client(door);
  const std::string body(300'000, 'b');
  client.say("POST /echo HTTP/1.1\r\nHost: te");
  client.say("st\r\nContent-Length: 300000\r\n\r\n" + body + "GET / HTTP/1.1\r\n\r\nGET /slot HTTP/1.1\r\n\r\n");
  EXPECT_THAT(client.answer(), EndsWith("\r\n\r\n" + body));
  EXPECT_THAT(client.answer(), EndsWith("hello\n"));
  EXPECT_THAT(client.answer(), EndsWith("4\n"));
}

TEST_F(NativeExample, RefusesWhatItDoesNotUnderstandAndCloses) {
  for (const auto& [request, status] : {std::pair("nonsense\r\n\r\n", "400"),
                                        {"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "400"},
                                        {"POST /echo HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", "413"},
                                        {"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "501"}}) {
    Client client(door);
    client.say(request);
    EXPECT_THAT(client.answer(), StartsWith(std::string("HTTP/1.1 ") + status));
    EXPECT_TRUE(client.ended());
  }
  Client client(door);
  client.say("GET / HTTP/1.1\r\n" + std::string(17'000, 'h'));
  EXPECT_THAT(client.answer(), StartsWith("HTTP/1.1 431"));
}

TEST_F(NativeExample, CountsWhatComesThroughTheInternalDoorAsACall) {
  Client client(internal);
  client.get("/");
  EXPECT_THAT(client.answer(), EndsWith("hello\n"));
  expect_soon(ScoreboardField::calls_finished, 1);
  EXPECT_EQ((*this)[ScoreboardField::requests_started], 0u);
  EXPECT_EQ((*this)[ScoreboardField::last_visitor_activity_ns], 0u);
}

TEST_F(NativeExample, HandsOverTheIdleWhenItRetiresAndTheBusyWhenTheyAreAnswered) {
  Client idle(door), busy(door);
  idle.get("/");
  EXPECT_THAT(idle.answer(), Not(HasSubstr("Connection: close")));
  busy.get("/slow");
  expect_soon(ScoreboardField::requests_started, 2);
  EXPECT_GT((*this)[ScoreboardField::oldest_plain_request_ns], 0u);
  retire();
  EXPECT_TRUE(next_message(worker.channel).has("STOPPING"));
  const Received first = next_received(worker.channel);
  EXPECT_EQ(first.message->find("FDSTORE"), "1");
  ASSERT_EQ(first.fds.size(), 1u);
  const std::string busy_heard = busy.answer();
  EXPECT_THAT(busy_heard, EndsWith("hello\n"));
  EXPECT_THAT(busy_heard, Not(HasSubstr("Connection: close")));
  const Received second = next_received(worker.channel);
  EXPECT_EQ(second.message->find("FDSTORE"), "2");
  say(Message{{"HELD", "1"}});
  say(Message{{"HELD", "2"}});
  EXPECT_EQ(worker.exit_status(), 0);
  EXPECT_EQ((*this)[ScoreboardField::requests_finished], 2u);
  EXPECT_EQ((*this)[ScoreboardField::oldest_plain_request_ns], 0u);
  EXPECT_EQ(::send(first.fds[0].get(), "from the next", 13, 0), 13) << "the connection lives on";
  EXPECT_TRUE(idle.hears("from the next"));
}

TEST_F(NativeExample, LeavesToTheNextWorkerWhatItHasNotRead) {
  Client busy(door);
  busy.get("/slow");
  expect_soon(ScoreboardField::requests_started, 1);
  busy.get("/");  // pipelined: it waits behind the slow one, in the kernel
  retire();
  EXPECT_TRUE(next_message(worker.channel).has("STOPPING"));
  EXPECT_THAT(busy.answer(), Not(HasSubstr("Connection: close"))) << "another answer follows";
  const Received given = next_received(worker.channel);
  ASSERT_EQ(given.fds.size(), 1u);
  PlayingWorker second = PlayingWorker::born(server, 2, 5);
  EXPECT_TRUE(next_message(second.channel).has("READY"));
  const int fd = given.fds[0].get();
  ASSERT_TRUE(second.channel.send(Message{{"ADOPT", "77"}}, {&fd, 1}));
  EXPECT_EQ(next_message(second.channel), (Message{{"ADOPTED", "77"}}));
  EXPECT_THAT(busy.answer(), EndsWith("hello\n"));
}

TEST_F(NativeExample, ServesOnWhatTheMasterDeclinesAndSaysThatItCloses) {
  Client idle(door);
  idle.get("/");
  idle.answer();
  retire();
  EXPECT_TRUE(next_message(worker.channel).has("STOPPING"));
  EXPECT_TRUE(next_message(worker.channel).has("FDSTORE"));
  say(Message{{"DECLINED", "1"}});
  idle.get("/");
  EXPECT_THAT(idle.answer(), HasSubstr("Connection: close"));
  EXPECT_TRUE(idle.ended());
  EXPECT_EQ(worker.exit_status(), 0);
}

TEST_F(NativeExample, DeclinesWhatIsOfferedOnceItRetires) {
  Client busy(door), other(door);
  busy.get("/slow");
  expect_soon(ScoreboardField::requests_started, 1);
  retire();
  EXPECT_TRUE(next_message(worker.channel).has("STOPPING"));
  const Received given = next_received(worker.channel);  // the other one, which is idle
  ASSERT_EQ(given.fds.size(), 1u);
  const int fd = given.fds[0].get();
  ASSERT_TRUE(worker.channel.send(Message{{"ADOPT", "77"}}, {&fd, 1}));
  EXPECT_EQ(next_message(worker.channel), (Message{{"DECLINED", "77"}}));
}

TEST_F(NativeExample, ClosesAnIdleCallWhenItRetires) {
  Client call(internal);
  call.get("/");
  call.answer();
  retire();
  EXPECT_TRUE(call.ended());
  EXPECT_EQ(worker.exit_status(), 0);
}

TEST_F(NativeExample, SaysInEachAnswerThatItClosesOnceAStopHasBegun) {
  Client client(door), idle(door);
  for (Client* each : {&client, &idle}) {
    each->get("/");
    EXPECT_THAT(each->answer(), Not(HasSubstr("Connection: close")));
  }
  say(Message{{"ANNOUNCE_CLOSE", "1"}});
  client.get("/slow");
  EXPECT_THAT(client.answer(), HasSubstr("Connection: close"));
  EXPECT_TRUE(client.ended());
  Client late(door);
  late.get("/");
  EXPECT_THAT(late.answer(), HasSubstr("Connection: close")) << "it accepts on";
  idle.get("/");
  EXPECT_THAT(idle.answer(), HasSubstr("Connection: close")) << "who was idle has not been closed";
}

TEST_F(NativeExample, TheLastOneClosesTheIdleAndAnswersTheBusyWithAClose) {
  Client idle(door), busy(door);
  idle.get("/");
  EXPECT_THAT(idle.answer(), Not(HasSubstr("Connection: close")));
  busy.get("/slow");
  expect_soon(ScoreboardField::requests_started, 2);
  retire_as_the_last();
  EXPECT_TRUE(idle.ended());
  busy.get("/");  // behind the slow one: the answer before it says that the connection ends
  EXPECT_THAT(busy.answer(), HasSubstr("Connection: close"));
  EXPECT_TRUE(busy.ended());
  EXPECT_EQ(worker.exit_status(), 0);
}

TEST_F(NativeExample, TheLastOneWaitsForTheFirstRequestOfThoseWhoHaveJustCome) {
  Client accepted(door);
  expect_soon(ScoreboardField::open_connections, 1);
  ::kill(worker.pid, SIGSTOP);
  Client waiting(door);  // at the door: nobody accepts
  ASSERT_TRUE(
      worker.channel.send(Message{{"RETIRE", "1"}, {"PARKING", "0"}}.add("DEADLINE_USEC", usec_in_ten_seconds())));
  ::kill(worker.pid, SIGCONT);
  EXPECT_TRUE(next_message(worker.channel).has("STOPPING"));
  for (Client* each : {&accepted, &waiting}) {
    each->get("/");
    EXPECT_THAT(each->answer(), HasSubstr("Connection: close"));
    EXPECT_TRUE(each->ended());
  }
  EXPECT_EQ(worker.exit_status(), 0);
}

TEST_F(NativeExample, TheLastOneDoesNotWaitLongForAClientThatSaysNothing) {
  Client silent(door);
  expect_soon(ScoreboardField::open_connections, 1);
  retire_as_the_last();
  EXPECT_TRUE(silent.ended());
  EXPECT_EQ(worker.exit_status(), 0);
}

TEST_F(NativeExample, LeavesAtItsDeadlineWhateverIsInFlight) {
  Client busy(door);
  busy.get("/slow");
  expect_soon(ScoreboardField::requests_started, 1);
  retire(1);
  EXPECT_EQ(worker.exit_status(), 0);
}

TEST_F(NativeExample, SharesItsDoorWithOtherWorkers) {
  PlayingWorker second = PlayingWorker::born(server, 2, 5);
  EXPECT_TRUE(next_message(second.channel).has("READY"));
  retire();
  EXPECT_EQ(worker.exit_status(), 0);
  Client client(door);
  client.get("/slot");
  EXPECT_THAT(client.answer(), EndsWith("5\n"));
}
}  // namespace
}  // namespace moult::testing_native
