#include "master/connections/listeners.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include "tests/unit/connections/scratch.h"
namespace moult {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

ListenerOptions only(std::vector<BindAddress> binds) {
  ListenerOptions options;
  options.binds = std::move(binds);
  options.patience = 0ms;
  return options;
}
std::string refusal(const ListenerOptions& options) {
  const auto opened = Listeners::open(options);
  return opened ? "(opened)" : opened.error().message;
}
int option(int fd, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  getsockopt(fd, level, name, &value, &size);
  return value;
}

TEST(Listeners, ListenOnAPortThatTheKernelChoosesAndSayWhichOneItIs) {
  auto listeners = Listeners::open(only({TcpAddress{"127.0.0.1", 0}}));
  ASSERT_TRUE(listeners) << listeners.error().message;
  const auto door = listeners->describe().at(0);
  EXPECT_THAT(door.address, ::testing::StartsWith("127.0.0.1:"));
  EXPECT_NE(port_of(door.address), 0);
  EXPECT_EQ(door.family, ListenerFamily::inet);
  EXPECT_EQ(call_tcp(port_of(door.address)), 0);
}

TEST(Listeners, AreNonBlockingAndClosedOnExec) {
  auto listeners = Listeners::open(only({TcpAddress{"127.0.0.1", 0}}));
  ASSERT_TRUE(listeners);
  const int fd = listeners->describe().at(0).fd;
  EXPECT_TRUE(fcntl(fd, F_GETFL) & O_NONBLOCK);
  EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  EXPECT_EQ(option(fd, SOL_SOCKET, SO_REUSEADDR), 1);
}

TEST(Listeners, OnceShutLetNobodyInButWhoIsInAlready) {
  auto listeners = Listeners::open(only({TcpAddress{"127.0.0.1", 0}}));
  ASSERT_TRUE(listeners);
  const auto door = listeners->describe().at(0);
  EXPECT_EQ(call_tcp(port_of(door.address)), 0);
  listeners->shut();
  EXPECT_EQ(call_tcp(port_of(door.address), 200ms), EINPROGRESS) << "nothing is said to him";
  EXPECT_TRUE(UniqueFd(accept4(door.fd, nullptr, nullptr, SOCK_CLOEXEC))) << "but who had come is still there";
  EXPECT_FALSE(UniqueFd(accept4(door.fd, nullptr, nullptr, SOCK_CLOEXEC)));
  listeners->close_all();
  EXPECT_EQ(call_tcp(port_of(door.address)), ECONNREFUSED);
}

TEST(Listeners, KeepIPv6ToItselfSoThatBothFamiliesCanHaveThePort) {
  auto six = Listeners::open(only({TcpAddress{"::1", 0}}));
  if (!six) GTEST_SKIP() << "no IPv6 here: " << six.error().message;
  const auto door = six->describe().at(0);
  EXPECT_THAT(door.address, ::testing::StartsWith("[::1]:"));
  EXPECT_EQ(door.family, ListenerFamily::inet6);
  EXPECT_EQ(option(door.fd, IPPROTO_IPV6, IPV6_V6ONLY), 1);
}

TEST(Listeners, NameWhoHasThePortThatIsWanted) {
  auto first = Listeners::open(only({TcpAddress{"127.0.0.1", 0}}));
  ASSERT_TRUE(first);
  const auto port = port_of(first->describe().at(0).address);
  const std::string said = refusal(only({TcpAddress{"127.0.0.1", port}}));
  EXPECT_THAT(said, HasSubstr("cannot bind 127.0.0.1:" + std::to_string(port) + ": Address already in use: "));
  EXPECT_THAT(said, HasSubstr("this moult itself listens there"));
  EXPECT_THAT(said, HasSubstr("choose another port with -b"));
}

TEST(Listeners, WaitForAnAddressThatIsAboutToBecomeFree) {
  UniqueFd other(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(other.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(other.get(), 1), 0);
  socklen_t size = sizeof address;
  getsockname(other.get(), reinterpret_cast<sockaddr*>(&address), &size);
  // A child holds a copy for 200 ms after we have given up ours, as the worker of a killed master does.
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(gate[0]);
    (void)!write(gate[1], "x", 1);
    usleep(200'000);
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(gate[0], &byte, 1), 1);
  close(gate[0]), close(gate[1]);
  other.reset();
  ListenerOptions options = only({TcpAddress{"127.0.0.1", ntohs(address.sin_port)}});
  options.patience = 20s;  // far more than is needed: the wait ends with the child
  const auto opened = Listeners::open(options);
  EXPECT_TRUE(opened) << opened.error().message;
  waitpid(child, nullptr, 0);
}

TEST(Listeners, RefuseAnAddressThatThisMachineDoesNotHave) {
  EXPECT_THAT(refusal(only({TcpAddress{"192.0.2.1", 8000}})), HasSubstr("this machine has no such address"));
}

TEST(Listeners, RefuseAnAddressThatIsGivenTwice) {
  const Scratch scratch;
  const UnixAddress twice{scratch.file("a"), {}};
  EXPECT_THAT(refusal(only({twice, twice})), HasSubstr("is given twice with -b"));
  EXPECT_TRUE(scratch.empty()) << "what had been opened is closed again";
}

TEST(Listeners, UseTheDefaultOnlyIfNothingElseIsGiven) {
  const Scratch scratch;
  ListenerOptions options = only({});
  options.default_bind = UnixAddress{scratch.file("default"), {}};
  auto alone = Listeners::open(options);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->describe().at(0).address, "unix:" + scratch.file("default"));
  options.binds = {UnixAddress{scratch.file("other"), {}}};
  alone->close_all();
  auto other = Listeners::open(options);
  ASSERT_TRUE(other);
  ASSERT_EQ(other->describe().size(), 1u);
  EXPECT_EQ(other->describe().at(0).address, "unix:" + scratch.file("other"));
}

TEST(Listeners, CloseEverythingAndTakeTheirPathsAway) {
  const Scratch scratch;
  auto listeners = Listeners::open(only({TcpAddress{"127.0.0.1", 0}, UnixAddress{scratch.file("a"), {}}}));
  ASSERT_TRUE(listeners);
  const auto port = port_of(listeners->describe().at(0).address);
  listeners->close_all();
  EXPECT_EQ(call_tcp(port), ECONNREFUSED);
  EXPECT_TRUE(scratch.empty());
  EXPECT_TRUE(listeners->describe().empty());
  listeners->close_all();
}

TEST(Listeners, OnceShutHaveNoPathAnyMoreButWhatSomebodyElseOpenedStaysAsItIs) {
  const Scratch scratch;
  const UniqueFd given = bound_unix(scratch.file("theirs"));
  auto listeners = Listeners::open(only({UnixAddress{scratch.file("ours"), {}}, InheritedFd{::dup(given.get())}}));
  ASSERT_TRUE(listeners) << listeners.error().message;
  EXPECT_EQ(call_unix(scratch.file("ours")), 0);
  listeners->shut();
  EXPECT_EQ(call_unix(scratch.file("ours")), ENOENT);
  EXPECT_TRUE(UniqueFd(accept4(listeners->describe().at(0).fd, nullptr, nullptr, SOCK_CLOEXEC)));
  EXPECT_EQ(call_unix(scratch.file("theirs")), 0);
}

TEST(Listeners, TakeOverADescriptorThatListensAndNeverUnlinkItsPath) {
  const Scratch scratch;
  UniqueFd given = bound_unix(scratch.file("theirs"));
  auto listeners = Listeners::open(only({InheritedFd{given.get()}}));
  ASSERT_TRUE(listeners) << listeners.error().message;
  const int fd = given.release();
  EXPECT_EQ(listeners->describe().at(0).address, "unix:" + scratch.file("theirs"));
  EXPECT_EQ(listeners->describe().at(0).fd, fd);
  EXPECT_TRUE(fcntl(fd, F_GETFL) & O_NONBLOCK);
  EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  listeners->close_all();
  EXPECT_FALSE(scratch.empty());
  EXPECT_EQ(fcntl(fd, F_GETFD), -1) << "but the descriptor is closed";
}

TEST(Listeners, RefuseADescriptorThatIsNoListeningStreamSocketAndLeaveItOpen) {
  const Scratch scratch;
  const UniqueFd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd mute = bound_unix(scratch.file("mute"), SOCK_STREAM, -1);
  const UniqueFd datagram = bound_unix(scratch.file("datagram"), SOCK_DGRAM);
  EXPECT_THAT(refusal(only({InheritedFd{file.get()}})), HasSubstr("is no socket"));
  EXPECT_THAT(refusal(only({InheritedFd{mute.get()}})), HasSubstr("does not listen"));
  EXPECT_THAT(refusal(only({InheritedFd{datagram.get()}})), HasSubstr("is no stream socket"));
  EXPECT_THAT(refusal(only({InheritedFd{12345}})), HasSubstr("fd://12345 is not open"));
  for (const UniqueFd* fd : {&file, &mute, &datagram}) EXPECT_NE(fcntl(fd->get(), F_GETFD), -1);
}
}  // namespace
}  // namespace moult
