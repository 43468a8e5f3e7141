// How many questions a gate gets answered in a store: acquire and release both counted, each acquire a new operation.
//
//   lease_rate SOCKET GATES SECONDS   each alone in its fleet, with its own connection: what it releases and asks next
//                                     leave together, so two calls each are under way; prints calls a second
//   lease_rate words VERB             one such call as words, a line each, with @operation where each has its own
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/machine.h"
#include "lease/ledger_script.h"
#include "lease/redis_gate.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

FleetPolicy policy(Duration ttl) {
  return {.permits = 1024, .ttl = ttl, .tokens_per_hour = 1e12, .rate_per = RatePer::fleet, .burst = 1024};
}
constexpr Capacity capacity{1000, 1000};

// Asks, gives back what it got, and asks again.
class Asker {
 public:
  Asker(uv_loop_t* loop, const std::string& socket, unsigned number) : loop_(loop) {
    RedisGateOptions options;
    options.store.address = {.kind = RedisAddress::Kind::unix_socket, .path = socket};
    options.store.seed = number;
    options.fleet = "bench-" + std::to_string(number);
    options.instance = "bench";
    options.policy = policy(120s);
    gate_ = std::make_unique<RedisGate>(loop, options, [] { return capacity; });
    ask();
  }
  std::uint64_t answers() const { return answers_; }
  std::uint64_t refused() const { return refused_; }

 private:
  void ask() {
    grant_ = gate_->acquire({1}, Urgency::routine, {monotonic_now(loop_) + 10s}, [this](const GateAnswer& answer) {
      ++answers_;
      if (!std::holds_alternative<Granted>(answer)) ++refused_;
      grant_.reset();
      ask();
    });
  }
  uv_loop_t* loop_;
  std::uint64_t answers_ = 0, refused_ = 0;
  std::unique_ptr<RedisGate> gate_;
  std::unique_ptr<Grant> grant_;
};

int measure(const char* socket, unsigned gates, unsigned seconds) {
  ::signal(SIGPIPE, SIG_IGN);
  EventLoop loop;
  std::vector<std::unique_ptr<Asker>> askers;
  for (unsigned i = 0; i < gates; ++i) askers.push_back(std::make_unique<Asker>(loop.get(), socket, i));
  const auto answers = [&] {
    std::uint64_t all = 0;
    for (const auto& each : askers) all += each->answers();
    return all;
  };
  const auto run_for = [&](Duration time) {
    const MonotonicTime end = monotonic_now(loop.get()) + time;
    while (monotonic_now(loop.get()) < end) uv_run(loop.get(), UV_RUN_ONCE);
  };
  run_for(200ms);  // connected, script loaded
  const std::uint64_t before = answers();
  const MonotonicTime start = monotonic_now(loop.get());
  run_for(std::chrono::seconds(seconds));
  const double took = std::chrono::duration<double>(monotonic_now(loop.get()) - start).count();
  std::uint64_t refused = 0;
  for (const auto& each : askers) refused += each->refused();
  std::printf("%.0f\n", 2 * static_cast<double>(answers() - before) / took);
  if (refused) std::fprintf(stderr, "%llu were refused\n", static_cast<unsigned long long>(refused));
  askers.clear();
  return refused ? 1 : 0;
}

// Its leases end by themselves at once, which costs the store what giving them back would.
int print_words(const std::string& verb) {
  const StoreTime later(std::chrono::hours(24 * 365 * 100));
  constexpr AskId marked{~std::uint64_t{0}};
  const Acquire acquire{marked, "bench#1", Urgency::routine, later, {"bench", capacity.wanted, capacity.healthy}, 1};
  const LedgerRequest request = verb == "release" ? LedgerRequest(Release{"bench#1", 1}) : LedgerRequest(acquire);
  const auto words =
      ledger_call("EVALSHA", ledger_script().sha1, "bench", request, {policy(1us), "bench", StoreTime{}});
  const std::string mark = std::to_string(marked.value);
  for (const std::string& word : words) std::printf("%s\n", word == mark ? "@operation" : word.c_str());
  return 0;
}
}  // namespace
}  // namespace moult

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "words") return moult::print_words(argv[2]);
  if (argc != 4) {
    std::fprintf(stderr, "lease_rate SOCKET GATES SECONDS | lease_rate words acquire|release\n");
    return 2;
  }
  return moult::measure(argv[1], static_cast<unsigned>(std::atoi(argv[2])), static_cast<unsigned>(std::atoi(argv[3])));
}
