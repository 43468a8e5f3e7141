#include "worker/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>

namespace moult {
namespace {
struct Ends {
  Channel master, worker;
};
Ends connected() {
  auto pair = Channel::pair();
  if (!pair) throw std::runtime_error(pair.error().message);
  return {std::move(pair->first), Channel(std::move(pair->second))};
}
Received received(Channel& channel) {
  Receipt receipt = channel.receive();
  if (auto* it = std::get_if<Received>(&receipt)) return std::move(*it);
  throw std::runtime_error("nothing was received");
}
bool nothing_now(Channel& channel) { return std::holds_alternative<NothingNow>(channel.receive()); }
bool ended(Channel& channel) { return std::holds_alternative<EndOfStream>(channel.receive()); }
Sent sent(Channel& channel, const Message& message, std::span<const int> fds = {}) {
  const auto outcome = channel.send(message, fds);
  if (!outcome) throw std::runtime_error(outcome.error().message);
  return *outcome;
}
const Message hello{{"HELLO", "1"}};

// A pipe, to see whether a passed descriptor is the one that was meant.
struct Pipe {
  UniqueFd read_end, write_end;
};
Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Runs `body` in a child, because it changes limits. Its result is the child's exit status.
template <class Body>
int in_a_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      ::_exit(body());
    } catch (...) { ::_exit(99); }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(Channel, CarriesAMessageAndTheKernelsWordForItsSender) {
  auto [master, worker] = connected();
  EXPECT_TRUE(nothing_now(master));
  EXPECT_EQ(sent(worker, hello), Sent::sent);
  const Received first = received(master);
  ASSERT_TRUE(first.message);
  EXPECT_EQ(*first.message, hello);
  ASSERT_TRUE(first.sender);
  EXPECT_EQ(first.sender->pid, ::getpid());
  EXPECT_EQ(first.sender->uid, ::geteuid());
  EXPECT_TRUE(nothing_now(master));

  EXPECT_EQ(sent(master, {{"RETIRE", "1"}}), Sent::sent);
  const Received down = received(worker);
  EXPECT_TRUE(down.message->has("RETIRE"));
  EXPECT_FALSE(down.sender);
}

TEST(Channel, NeverBlocksThoughItsDescriptorWould) {
  auto [master, worker] = connected();
  EXPECT_EQ(::fcntl(worker.fd(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_TRUE(nothing_now(worker));
}

TEST(Channel, PassesDescriptorsAndClosesThemOnExec) {
  auto [master, worker] = connected();
  const Pipe first = make_pipe(), second = make_pipe();
  const int fds[] = {first.write_end.get(), second.write_end.get()};
  EXPECT_EQ(sent(master, {{"FORK", "7"}}, fds), Sent::sent);
  const Received got = received(worker);
  ASSERT_EQ(got.fds.size(), 2u);
  EXPECT_FALSE(got.fds_lost);
  EXPECT_EQ(::fcntl(got.fds[0].get(), F_GETFD), FD_CLOEXEC);
  ASSERT_EQ(::write(got.fds[1].get(), "2", 1), 1);
  char byte = 0;
  ASSERT_EQ(::read(second.read_end.get(), &byte, 1), 1);
  EXPECT_EQ(byte, '2');
}

TEST(Channel, PassesEightDescriptorsAndRefusesNine) {
  auto [master, worker] = connected();
  const Pipe pipe = make_pipe();
  const std::vector<int> nine(max_passed_fds + 1, pipe.write_end.get());
  EXPECT_EQ(sent(master, hello, std::span(nine).first(max_passed_fds)), Sent::sent);
  EXPECT_EQ(received(worker).fds.size(), max_passed_fds);
  EXPECT_FALSE(master.send(hello, nine));
  EXPECT_TRUE(nothing_now(worker));
}

TEST(Channel, SaysThatDescriptorsWereLostWhenMoreCameThanItHasRoomFor) {
  auto [master, worker] = connected();
  const Pipe pipe = make_pipe();
  constexpr std::size_t sent_fds = 2 * max_passed_fds;
  std::string datagram = "FORK=1";
  iovec content{datagram.data(), datagram.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * (sent_fds))] = {};
  msghdr header{};
  header.msg_iov = &content;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int) * (sent_fds));
  for (std::size_t i = 0; i < sent_fds; ++i) reinterpret_cast<int*>(CMSG_DATA(rights))[i] = pipe.write_end.get();
  ASSERT_EQ(::sendmsg(master.fd(), &header, 0), static_cast<ssize_t>(datagram.size()));
  const Received got = received(worker);
  EXPECT_TRUE(got.fds_lost);
  EXPECT_EQ(got.fds.size(), max_passed_fds);
  EXPECT_TRUE(got.message);
}

TEST(Channel, SaysThatDescriptorsWereLostWhenTheTableIsFull) {
  auto [master, worker] = connected();
  const Pipe pipe = make_pipe();
  const int fd = pipe.write_end.get();
  EXPECT_EQ(sent(master, {{"ADOPT", "1"}}, {&fd, 1}), Sent::sent);
  const int outcome = in_a_child([&channel = worker] {
    const int next_free = ::dup(0);
    ::close(next_free);
    const rlimit full{static_cast<rlim_t>(next_free), static_cast<rlim_t>(next_free)};
    if (::setrlimit(RLIMIT_NOFILE, &full) != 0) return 1;
    const Received got = received(channel);
    if (!got.fds_lost || !got.fds.empty()) return 2;
    return got.message && got.message->find("ADOPT") == "1" ? 0 : 3;
  });
  EXPECT_EQ(outcome, 0);
}

TEST(Channel, SaysThatItWouldBlockWhenTheOtherSideIsBehindAndLosesNothing) {
  auto [master, worker] = connected();
  std::uint64_t count = 0;
  while (sent(worker, Message{}.add("N", count).add("PAD", std::string(1000, 'x'))) == Sent::sent) {
    ASSERT_LT(++count, 100'000u);
  }
  EXPECT_EQ(sent(worker, hello), Sent::would_block);
  for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(received(master).message->find_number<std::uint64_t>("N"), i);
  EXPECT_TRUE(nothing_now(master));
  EXPECT_EQ(sent(worker, hello), Sent::sent);
}

TEST(Channel, SaysTryLaterWhenTooManyDescriptorsAreInFlight) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody who has no descriptors in flight";
  auto [master, worker] = connected();
  const Pipe pipe = make_pipe();
  const int outcome = in_a_child([&channel = worker, fd = pipe.write_end.get()] {
    const rlimit few{32, 32};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0 || ::setuid(65'500) != 0) return 1;
    const std::vector<int> eight(max_passed_fds, fd);
    for (int i = 0; i < 100; ++i) {
      const Sent outcome_of_one = sent(channel, hello, eight);
      if (outcome_of_one == Sent::try_later) return 0;
      if (outcome_of_one != Sent::sent) return 2;
    }
    return 3;
  });
  EXPECT_EQ(outcome, 0);
}

TEST(Channel, SaysThatThePeerIsGoneWithoutASignal) {
  auto [master, worker] = connected();
  { const Channel closed = std::move(worker); }
  EXPECT_EQ(sent(master, hello), Sent::peer_gone);
  EXPECT_TRUE(ended(master));
  EXPECT_TRUE(ended(master));
}

TEST(Channel, IsReadToItsEndThoughThePeerWentWithUnreadMessages) {
  auto [master, worker] = connected();
  const Pipe pipe = make_pipe();
  const int fd = pipe.write_end.get();
  EXPECT_EQ(sent(master, {{"RETIRE", "1"}}), Sent::sent);
  EXPECT_EQ(sent(worker, {{"FDSTORE", "1"}}, {&fd, 1}), Sent::sent);
  EXPECT_EQ(sent(worker, {{"STOPPING", "1"}}), Sent::sent);
  { const Channel closed = std::move(worker); }
  EXPECT_EQ(received(master).fds.size(), 1u);
  EXPECT_TRUE(received(master).message->has("STOPPING"));
  EXPECT_TRUE(ended(master));
}

TEST(Channel, TellsABadMessageFromTheEndAndGoesOnAfterIt) {
  auto [master, worker] = connected();
  ASSERT_EQ(::send(worker.fd(), "", 0, 0), 0);
  ASSERT_EQ(::send(worker.fd(), "nonsense", 8, 0), 8);
  const std::string oversized = "A=" + std::string(max_message_bytes - 1, 'x');
  ASSERT_EQ(::send(worker.fd(), oversized.data(), oversized.size(), 0), static_cast<ssize_t>(oversized.size()));
  ASSERT_EQ(sent(worker, hello), Sent::sent);
  EXPECT_EQ(received(master).message.error().message, "bad message: it is empty");
  EXPECT_EQ(received(master).message.error().message, "bad message: line 1 has no '='");
  EXPECT_EQ(received(master).message.error().message, "bad message: longer than 64 KiB");
  EXPECT_EQ(*received(master).message, hello);
}

TEST(Channel, ClosesDescriptorsThatNobodyTook) {
  auto [master, worker] = connected();
  Pipe pipe = make_pipe();
  const int fd = pipe.write_end.get();
  ASSERT_EQ(sent(worker, hello, {&fd, 1}), Sent::sent);
  pipe.write_end.reset();
  { const Received got = received(master); }
  char byte = 0;
  EXPECT_EQ(::read(pipe.read_end.get(), &byte, 1), 0) << "somebody still holds the write end";
}

TEST(Channel, RefusesAMessageThatCannotBeWrittenAndABadDescriptor) {
  auto [master, worker] = connected();
  EXPECT_FALSE(master.send({{"STATUS", "a\nb"}}));
  const int bad = -1;
  const auto outcome = master.send(hello, {&bad, 1});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, EBADF);
}
}  // namespace
}  // namespace moult
