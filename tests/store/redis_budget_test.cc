// Whatever the store does, a call is answered by the end of its budget: a thousand of them at every kind of bad store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "base/random.h"
#include "lease/tls.h"
#include "tests/contract/redis_server.h"
#include "tests/store/certificates.h"
#include "tests/store/fake_store.h"
#include "tests/store/go_between.h"
#include "tests/store/store_loop.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::HasSubstr;

// How late an idle loop beside ours is woken: what the machine takes away from everybody.
class IdleLoop {
 public:
  IdleLoop() : thread_([this] { run(); }) {}
  ~IdleLoop() {
    stop_ = true;
    thread_.join();
  }
  Duration worst(MonotonicTime from, MonotonicTime to) {
    const std::lock_guard lock(mutex_);
    Duration worst{};
    for (const auto& [due, late] : ticks_)
      if (due + late >= from && due <= to) worst = std::max(worst, late);
    return worst;
  }

 private:
  void run() {
    uv_loop_t loop;
    uv_loop_init(&loop);
    uv_timer_t timer;
    uv_timer_init(&loop, &timer);
    while (!stop_) {
      uv_update_time(&loop);
      const MonotonicTime due = monotonic_now(&loop) + 5ms;
      uv_timer_start(
          &timer, [](uv_timer_t*) {}, 5, 0);
      uv_run(&loop, UV_RUN_ONCE);
      uv_update_time(&loop);
      const std::lock_guard lock(mutex_);
      ticks_.emplace_back(due, std::max(Duration::zero(), monotonic_now(&loop) - due));
    }
    uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
  }
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::vector<std::pair<MonotonicTime, Duration>> ticks_;
  std::thread thread_;
};

// How long the kernel let our own thread wait for a processor: beside one that is always idle, one that works waits
// longer.
class OwnQueue {
 public:
  void look(MonotonicTime now) {
    long long ran = 0, waited = 0;
    if (std::FILE* file = std::fopen("/proc/thread-self/schedstat", "r")) {
      if (std::fscanf(file, "%lld %lld", &ran, &waited) != 2) waited = 0;
      std::fclose(file);
    }
    looks_.emplace_back(now, Duration(waited));
  }
  Duration waited(MonotonicTime from, MonotonicTime to) const {
    const auto before = std::ranges::upper_bound(looks_, from, {}, &std::pair<MonotonicTime, Duration>::first);
    const auto after = std::ranges::lower_bound(looks_, to, {}, &std::pair<MonotonicTime, Duration>::first);
    if (before == looks_.begin() || after == looks_.end()) return {};
    return after->second - std::prev(before)->second;
  }

 private:
  std::vector<std::pair<MonotonicTime, Duration>> looks_;
};

// A port whose queue of callers is full: a SYN to it is dropped, as in a black hole.
class BlackHole {
 public:
  BlackHole() {
    ::listen(port_.socket.get(), 0);
    for (int i = 0; i < 8; ++i) {
      UniqueFd caller(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(port_.port);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      ::connect(caller.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
      callers_.push_back(std::move(caller));
    }
  }
  std::uint16_t port() const { return port_.port; }

 private:
  RefusingPort port_;
  std::vector<UniqueFd> callers_;
};

// All the bad stores there are, each with what else is in the way: TLS, a login.
class BadStores {
 public:
  BadStores() {
    stopped_.signal(SIGSTOP);
    stopped_tls_.signal(SIGSTOP);
  }
  std::vector<std::pair<std::string, RedisOptions>> all() const {
    return {{"stopped", over_unix(stopped_.socket())},
            {"stopped, with a login", login(over_unix(stopped_.socket()))},
            {"stopped, over TLS", tls(over_tcp(tls_port_))},
            {"black-holed", over_tcp(hole_.port())},
            {"black-holed, over TLS with a login", login(tls(over_tcp(hole_.port())))},
            {"slow", over_tcp(slow_.port())},
            {"slow, with a login", login(over_tcp(slow_.port()))},
            {"slow, over TLS", tls(over_tcp(slow_tls_.port()))},
            {"slow, over TLS with a login", login(tls(over_tcp(slow_tls_.port())))},
            {"refusing", over_tcp(refusing_.port)},
            {"not there", over_unix("/nowhere/store.sock")},
            {"loading", login(over_tcp(loading_.port()))},
            {"a replica", over_tcp(replica_.port())},
            {"stuck in an answer", over_tcp(stuck_.port())},
            {"hanging up on each call", over_tcp(hangs_up_.port())},
            {"hanging up on each connection", over_tcp(shut_.port())},
            {"plain where TLS is wanted", tls(over_tcp(loading_.port()))}};
  }

  std::uint16_t refusing_port() const { return refusing_.port; }

 private:
  static RedisOptions login(RedisOptions options) {
    options.address.user = "default";
    options.address.password = "hunter2";
    return options;
  }
  RedisOptions tls(RedisOptions options) const {
    options.address.kind = RedisAddress::Kind::tls;
    options.tls = authority_;
    return options;
  }
  Certificates certificates_;
  std::uint16_t tls_port_ = free_port(), well_tls_port_ = free_port();
  std::vector<std::string> over_tls(std::uint16_t port) {
    return {"--tls-port",         std::to_string(port),
            "--tls-cert-file",    certificates_.issue("store", "IP:127.0.0.1"),
            "--tls-key-file",     certificates_.key(),
            "--tls-ca-cert-file", certificates_.path("ca.pem"),
            "--tls-auth-clients", "no"};
  }
  std::shared_ptr<const TlsContext> authority_ = *TlsContext::make(certificates_.path("ca.pem"));
  RedisServer stopped_, stopped_tls_{over_tls(tls_port_)}, well_{over_tls(well_tls_port_)};
  BlackHole hole_;
  RefusingPort refusing_;
  GoBetween slow_{{.store = well_.socket(), .bytes_a_second = 1}};
  GoBetween slow_tls_{{.port = well_tls_port_, .bytes_a_second = 1}};
  FakeStore loading_{[](const auto&) { return "-LOADING Redis is loading the dataset in memory\r\n"; }};
  FakeStore replica_{[](const auto&) { return "-READONLY You can't write against a read only replica.\r\n"; }};
  FakeStore stuck_{[](const auto&) { return "$5\r\nhe"; }};
  FakeStore hangs_up_{[](const auto&) { return ""; }};
  FakeStore shut_{[](const auto&) { return ""; }, false};
};

struct Caller {
  std::string store;
  RedisOptions options;
  Duration begins;  // after the start
  std::unique_ptr<RedisConnection> connection;
  std::shared_ptr<Asked> asked;
};

std::vector<Caller> callers_at(const BadStores& bad, std::size_t count, Duration spread) {
  const auto kinds = bad.all();
  Random random{4};
  std::vector<Caller> callers;
  for (std::size_t i = 0; i < count; ++i) {
    auto [store, options] = kinds[i % kinds.size()];
    options.seed = random.next();
    callers.push_back({store, options, random.up_to(spread), nullptr, nullptr});
  }
  std::ranges::sort(callers, {}, &Caller::begins);
  return callers;
}

TEST(RedisBudget, AThousandOfAThousandCallsAreAnsweredInTimeWhateverTheStoreDoes) {
  constexpr Duration budget = 300ms, allowed = 330ms;
  const BadStores bad;
  IdleLoop beside;
  OwnQueue own;
  StoreLoop loop;
  auto callers = callers_at(bad, 1000, 3s);
  const MonotonicTime start = loop.now();
  std::size_t begun = 0, answered = 0;
  ASSERT_TRUE(loop.run_until([&] {
    const MonotonicTime now = loop.now();
    own.look(now);
    for (; begun < callers.size() && now - start >= callers[begun].begins; ++begun) {
      Caller& caller = callers[begun];
      caller.connection = std::make_unique<RedisConnection>(loop.get(), caller.options);
      caller.asked = ask(loop, *caller.connection, {"PING"}, budget);
    }
    for (std::size_t i = answered; i < begun; ++i)  // all before `answered` are
      if (callers[i].asked->answer) callers[i].connection.reset();
    while (answered < begun && !callers[answered].connection) ++answered;
    return answered == callers.size();
  }));
  own.look(loop.now());
  Duration worst{};
  for (const Caller& caller : callers) {
    const Asked& asked = *caller.asked;
    const Duration lag = std::max(beside.worst(asked.asked_at, asked.answered_at),
                                  own.waited(asked.asked_at + budget, asked.answered_at));
    worst = std::max(worst, asked.took() - lag);
    EXPECT_EQ(asked.answers, 1);
    EXPECT_TRUE(asked.failure()) << caller.store << ": " << asked.said();
    EXPECT_LE(asked.took() - lag, allowed) << caller.store << ": " << asked.said();
  }
  RecordProperty("worst_ms", static_cast<int>(worst / 1ms));
}

// Cancelled, or the whole connection destroyed, at any moment of looking up, connecting, TLS, greeting, asking,
// waiting.
TEST(RedisBudget, CancellingAtAThousandRandomMomentsLeaksNothingAndTheConnectionServesOn) {
  const BadStores bad;
  auto kinds = bad.all();
  const RedisServer well;
  for (int i = 0; i < 8; ++i) kinds.emplace_back("well", over_unix(well.socket()));
  kinds.emplace_back("by a name", over_tcp(bad.refusing_port(), "localhost"));
  StoreLoop loop;
  RedisConnection lasting(loop.get(), over_unix(well.socket()));
  ASSERT_EQ(ask_and_wait(loop, lasting, {"PING"})->said(), "PONG");
  ask_and_wait(loop, *std::make_unique<RedisConnection>(loop.get(), kinds.back().second), {"PING"}, 100ms);
  const std::size_t before = open_descriptors();
  Random random{5};
  for (int i = 0; i < 1000; ++i) {
    RedisConnection fresh(loop.get(), kinds[random.next() % kinds.size()].second);
    const auto cancelled = ask(loop, random.next() % 2 ? fresh : lasting, {"PING"}, patience);
    const auto served = ask(loop, lasting, {"ECHO", std::to_string(i)}, patience);
    const auto destroyed = ask(loop, fresh, {"PING"}, patience);
    const MonotonicTime until = loop.now() + random.up_to(4ms);
    do { uv_run(loop.get(), UV_RUN_NOWAIT); } while (loop.now() < until);
    cancelled->call.reset();
    const int answers = cancelled->answers;
    ASSERT_TRUE(loop.run_until([&] { return served->answer.has_value(); }));
    ASSERT_EQ(served->said(), std::to_string(i));
    ASSERT_EQ(cancelled->answers, answers) << "answered after it was cancelled";
  }
  EXPECT_EQ(lasting.describe().connects, 1u);
  ASSERT_TRUE(loop.run_until([&] { return open_descriptors() == before; }));
}

TEST(RedisBudget, AHintThatIsLongerThanWhatIsLeftIsNotWaitedFor) {
  FakeStore loading([](const auto&) { return "-LOADING Redis is loading the dataset in memory\r\n"; });
  StoreLoop loop;
  RedisConnection connection(loop.get(), over_tcp(loading.port()));
  const auto asked = ask_and_wait(loop, connection, {"PING"}, 300ms);
  EXPECT_THAT(asked->said(), HasSubstr("still loading"));
  EXPECT_LT(asked->took(), 250ms) << "after 50 and 100 the next 200 do not fit";
  EXPECT_FALSE(asked->failure()->may_have_run);
}
}  // namespace
}  // namespace moult
