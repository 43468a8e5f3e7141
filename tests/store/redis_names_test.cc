// Names of stores: with several addresses, and with a name server that says nothing. In a process of its own with its
// own network and its own /etc/hosts, which needs root; else skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include <cstdio>
#include <fstream>

#include "tests/store/fake_store.h"
#include "tests/store/store_loop.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

// The caller's, from here on. False: not allowed.
bool own_network() {
  if (::unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) return false;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq loopback{};
  std::snprintf(loopback.ifr_name, sizeof loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &loopback) == 0;
}
bool instead_of(const std::string& file, const std::string& text) {
  char name[] = "/tmp/moult-names-XXXXXX";
  const UniqueFd made(::mkstemp(name));
  std::ofstream(name) << text;
  const bool mounted = ::mount(name, file.c_str(), nullptr, MS_BIND, nullptr) == 0;
  ::unlink(name);
  return mounted;
}
sockaddr_in at(const char* address, std::uint16_t port) {
  sockaddr_in all{};
  all.sin_family = AF_INET;
  all.sin_port = htons(port);
  ::inet_pton(AF_INET, address, &all.sin_addr);
  return all;
}
[[noreturn]] void leave(bool well, const std::string& said) {
  std::fprintf(stderr, "%s\n", said.c_str());
  std::_Exit(well ? 0 : 1);
}

// What is asked in an own network, with these files, of many.test; exits 0 if it is answered as expected, in time.
[[noreturn]] void ask_by_name(const std::string& hosts, const std::string& resolver, bool hole,
                              const std::string& expected, Duration budget, Duration at_most) {
  if (!own_network() || !instead_of("/etc/hosts", hosts) || !instead_of("/etc/resolv.conf", resolver))
    leave(true, "skipped: not allowed");
  FakeStore store([](const auto&) { return "+well\r\n"; });
  const UniqueFd listener(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const UniqueFd caller(::socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const UniqueFd second(::socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (hole) {  // the same port of the first address: its queue is full
    const sockaddr_in6 address{AF_INET6, htons(store.port()), 0, IN6ADDR_LOOPBACK_INIT, 0};
    ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::listen(listener.get(), 0);
    ::connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::connect(second.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  const UniqueFd name_server(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));  // hears and says nothing
  const sockaddr_in domain = at("127.0.0.1", 53);
  ::bind(name_server.get(), reinterpret_cast<const sockaddr*>(&domain), sizeof domain);
  StoreLoop loop;
  RedisConnection connection(loop.get(), over_tcp(store.port(), "many.test"));
  const auto asked = ask_and_wait(loop, connection, {"GET", "a"}, budget);
  leave(asked->said().find(expected) != std::string::npos && asked->took() <= at_most,
        asked->said() + " after " + std::to_string(asked->took() / 1ms) + " ms");
}

constexpr const char* two_addresses = "::1 many.test\n127.0.0.1 many.test\n";  // in this order, by RFC 6724

// The resolver itself gives up after 10 s; a busy machine may be late.
constexpr Duration not_the_resolvers = 3s;

class RedisNames : public testing::Test {
 protected:
  RedisNames() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }  // a program that has no threads yet
};

TEST_F(RedisNames, TheNextAddressIsTriedWhereOneRefuses) {
  EXPECT_EXIT(ask_by_name(two_addresses, "", false, "well", patience, 5s), testing::ExitedWithCode(0), "");
}

TEST_F(RedisNames, AnAddressThatDoesNotAnswerLeavesTimeForTheNext) {
  EXPECT_EXIT(ask_by_name(two_addresses, "", true, "well", 2s, 2s), testing::ExitedWithCode(0), "");
}

TEST_F(RedisNames, AnUnknownNameIsNamed) {
  EXPECT_EXIT(ask_by_name("127.0.0.1 localhost\n", "nameserver 127.0.0.9\n", false, "many.test is not found", 300ms,
                          not_the_resolvers),
              testing::ExitedWithCode(0), "");
}

TEST_F(RedisNames, ANameServerThatSaysNothingCostsNoMoreThanTheBudget) {
  EXPECT_EXIT(ask_by_name("127.0.0.1 localhost\n", "nameserver 127.0.0.1\n", false, "stuck in looking up its name",
                          300ms, not_the_resolvers),
              testing::ExitedWithCode(0), "");
}
}  // namespace
}  // namespace moult
