#include "master/connections/service_manager_sockets.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "master/connections/listeners.h"
#include "tests/unit/connections/scratch.h"
namespace moult {
namespace {
// What systemd does before it executes a service; each test does it in a child, which may have any descriptors.
void pass(const std::vector<int>& fds, const char* names, pid_t to = getpid()) {
  for (std::size_t i = 0; i < fds.size(); ++i) dup2(fds[i], first_passed_fd + static_cast<int>(i));
  setenv("LISTEN_FDS", std::to_string(fds.size()).c_str(), 1);
  setenv("LISTEN_PID", std::to_string(to).c_str(), 1);
  setenv("LISTEN_FDNAMES", names, 1);
}
[[noreturn]] void end_with(const Result<Listeners>& opened) {
  if (!opened) std::cerr << opened.error().message;
  if (opened) {
    for (const auto& door : opened->describe()) std::cerr << door.address << "@" << door.fd << " ";
  }
  std::cerr << (getenv("LISTEN_FDS") == nullptr && getenv("LISTEN_PID") == nullptr &&
                        getenv("LISTEN_FDNAMES") == nullptr
                    ? "clean"
                    : "left in the environment");
  _exit(0);
}
ListenerOptions given(std::vector<BindAddress> binds, const std::string& fallback) {
  ListenerOptions options;
  options.binds = std::move(binds);
  options.default_bind = UnixAddress{fallback, {}};
  return options;
}
using ::testing::ExitedWithCode;

class ServiceManagerSockets : public ::testing::Test {
 protected:
  const Scratch scratch_;
  // High numbers: they are not in the way of 3 and 4.
  const UniqueFd one_{fcntl_high(bound_unix(scratch_.file("one")))};
  const UniqueFd two_{fcntl_high(bound_unix(scratch_.file("two")))};
  static int fcntl_high(UniqueFd fd) {
    for (int high = 40;; ++high) {
      if (fcntl_free(high)) return dup2(fd.get(), high);
    }
  }
  static bool fcntl_free(int fd) { return dup2(fd, fd) < 0; }
};

TEST_F(ServiceManagerSockets, AreUsedInsteadOfTheDefaultAndLeaveTheEnvironment) {
  EXPECT_EXIT((pass({one_.get(), two_.get()}, "web:more"), end_with(Listeners::open(given({}, scratch_.file("d"))))),
              ExitedWithCode(0), "^unix:[^ ]*/one@3 unix:[^ ]*/two@4 clean$");
}

TEST_F(ServiceManagerSockets, AreUsedBesideAnotherBind) {
  const auto options = given({UnixAddress{scratch_.file("mine"), {}}}, scratch_.file("d"));
  EXPECT_EXIT((pass({one_.get()}, "web"), end_with(Listeners::open(options))), ExitedWithCode(0),
              "^unix:[^ ]*/one@3 unix:[^ ]*/mine@[0-9]+ clean$");
}

TEST_F(ServiceManagerSockets, AnswerABindForTheSameAddress) {
  const auto options = given({UnixAddress{scratch_.file("one"), {}}}, scratch_.file("d"));
  EXPECT_EXIT((pass({one_.get()}, "web"), end_with(Listeners::open(options))), ExitedWithCode(0),
              "^unix:[^ ]*/one@3 clean$");
}

TEST_F(ServiceManagerSockets, AreLeftAloneIfTheyAreMeantForAnotherProcess) {
  EXPECT_EXIT((pass({one_.get()}, "web", 1), end_with(Listeners::open(given({}, scratch_.file("d"))))),
              ExitedWithCode(0), "^unix:[^ ]*/d@[0-9]+ clean$");
}

TEST_F(ServiceManagerSockets, AreRefusedByNameIfTheyAreNoStreamSockets) {
  const UniqueFd datagram{fcntl_high(bound_unix(scratch_.file("dgram"), SOCK_DGRAM))};
  EXPECT_EXIT((pass({one_.get(), datagram.get()}, "web:log"), end_with(Listeners::open(given({}, scratch_.file("d"))))),
              ExitedWithCode(0), "the socket 'log' passed as descriptor 4 is no stream socket");
}

TEST_F(ServiceManagerSockets, AreRefusedIfTheirNumberMakesNoSense) {
  EXPECT_EXIT((pass({one_.get()}, "web"), setenv("LISTEN_FDS", "many", 1),
               end_with(Listeners::open(given({}, scratch_.file("d"))))),
              ExitedWithCode(0), "LISTEN_FDS is 'many': moult takes 0 to 256 sockets");
}
}  // namespace
}  // namespace moult
