// An instance whose own clock is set while it asks and holds: nothing comes of it, only the store's clock counts.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/store/gate_on_redis.h"
#include "tests/store/set_clock.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

// The test runs once more in a process of its own, whose clock it sets; the store is the first one's, with a true one.
class InstanceWhoseClockIsSet : public GatesOnRedis {
 protected:
  static constexpr const char* store_variable = "MOULT_TEST_STORE";
  static constexpr const char* clock_variable = "MOULT_CLOCK_SHIFT";

  static bool is_the_instance() { return std::getenv(store_variable) && std::getenv(clock_variable); }
  int run_the_instance() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    const std::string filter = std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
    std::vector<std::string> variables = SetClock(server.folder() / "shift").environment();
    variables.push_back(std::string(store_variable) + "=" + store);
    // Of a sanitized program: its libraries need not come before the clock.
    const char* options = std::getenv("ASAN_OPTIONS");
    variables.push_back(std::string("ASAN_OPTIONS=") + (options ? options : "") + ":verify_asan_link_order=0");
    std::fflush(stdout);  // else the child says it once more
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (std::string& variable : variables) ::putenv(variable.data());
      ::execl("/proc/self/exe", "store", filter.c_str(), "--gtest_repeat=1", nullptr);
      ::_exit(127);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
  }
  double seconds_ahead_of_the_store() {
    const auto own = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(own - time_of(store).time_since_epoch()).count();
  }
};

TEST_F(InstanceWhoseClockIsSet, ByAnHourForwardOrBackIsGrantedAndRenewedAsBefore) {
  if (!is_the_instance()) {
    EXPECT_EQ(run_the_instance(), 0) << "what failed there is told above";
    EXPECT_GT(stored().last_fencing_token, 0u) << "it did not ask";
    return;
  }
  store = std::getenv(store_variable);
  SetClock own(std::getenv(clock_variable));
  policy.burst = 9;
  policy.ttl = 1s;
  std::uint64_t last = 0;
  for (const std::chrono::seconds ahead : {3600s, -3600s}) {
    own.set(ahead);
    ASSERT_NEAR(seconds_ahead_of_the_store(), static_cast<double>(ahead.count()), 60);
    const auto a = gate("a"), b = gate("b");
    auto held = asked(*a);
    ASSERT_TRUE(held->granted()) << ahead.count();
    EXPECT_GT(held->granted()->fencing_token, last);
    last = held->granted()->fencing_token;
    for (const std::chrono::seconds then : {ahead, -ahead}) {  // set while it holds, too
      own.set(then);
      const StoreTime expires_at = stored().permits.at(0).expires_at;
      EXPECT_LE(expires_at, time_of(store) + policy.ttl);
      ASSERT_TRUE(comes_true([&] { return stored().permits.at(0).expires_at > expires_at; })) << "not renewed";
      EXPECT_EQ(asked(*b)->refused(), Refusal::lease_held);
    }
    EXPECT_EQ(stored().permits.at(0).token, last);
    EXPECT_EQ(a->describe().leases_lost, 0u);
    held.reset();
    ASSERT_TRUE(comes_true([&] { return stored().permits.empty(); }));
  }
}
}  // namespace
}  // namespace moult
