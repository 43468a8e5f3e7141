// decide() at each of its edges.
#include "tests/unit/recycler/recycler_test.h"

namespace moult {
namespace {
const RecyclePolicy defaults;
constexpr MonotonicTime now = start + 1h;

TEST(Decide, KeepsAWorkerBelowItsLimitAndRecyclesOneAtIt) {
  EXPECT_TRUE(kept(decide(confirmed_at(100 * MB - 1, defaults, now), instance(), defaults, now)));
  EXPECT_TRUE(recycled(decide(confirmed_at(100 * MB, defaults, now), instance(), defaults, now), Cause::limit,
                       Urgency::routine));
}

TEST(Decide, OneReadingOverTheLimitWaitsForASecondAndPreciseOne) {
  WorkerRecord worker = observe(worker_at(50 * MB), statm(100 * MB), defaults, now);
  const Decision first = decide(worker, instance(), defaults, now);
  ASSERT_TRUE(held(first, HoldReason::second_reading));
  EXPECT_EQ(std::get<Hold>(first).until, now + 100ms);
  worker = observe(worker, statm(101 * MB), defaults, now + 100ms);
  EXPECT_TRUE(held(decide(worker, instance(), defaults, now + 100ms), HoldReason::second_reading));
  worker = observe(worker, smaps(101 * MB), defaults, now + 200ms);
  EXPECT_TRUE(recycled(decide(worker, instance(), defaults, now + 200ms), Cause::limit, Urgency::routine));
}

TEST(Decide, ASecondReadingThatIsBelowTheLimitEndsTheMatter) {
  WorkerRecord worker = observe(worker_at(50 * MB), statm(100 * MB), defaults, now);
  worker = observe(worker, smaps(100 * MB - 1), defaults, now + 100ms);
  EXPECT_TRUE(kept(decide(worker, instance(), defaults, now + 100ms)));
  worker = observe(worker, smaps(100 * MB), defaults, now + 200ms);  // precise, but the first again
  EXPECT_TRUE(held(decide(worker, instance(), defaults, now + 200ms), HoldReason::second_reading));
}

TEST(Decide, OneReadingOverTheHardLimitIsEnough) {
  const WorkerRecord below = observe(worker_at(50 * MB), statm(130 * MB - 1), defaults, now);
  EXPECT_TRUE(held(decide(below, instance(), defaults, now), HoldReason::second_reading));
  const WorkerRecord at = observe(worker_at(50 * MB), statm(130 * MB), defaults, now);
  EXPECT_TRUE(recycled(decide(at, instance(), defaults, now), Cause::hard_limit, Urgency::hard_limit));
}

TEST(Decide, RoutineWaitsForTheCooldownToItsLastMillisecond) {
  const WorkerRecord worker = confirmed_at(110 * MB, defaults, now);
  const Decision early = decide(worker, instance(now - 120s + 1ms), defaults, now);
  ASSERT_TRUE(held(early, HoldReason::cooldown));
  EXPECT_EQ(std::get<Hold>(early).until, now + 1ms);
  EXPECT_TRUE(recycled(decide(worker, instance(now - 120s), defaults, now), Cause::limit, Urgency::routine));
}

TEST(Decide, AnInstanceThatJustStartedHasNoCooldown) {
  constexpr MonotonicTime boot{1s};  // the machine's own clock is young too
  EXPECT_TRUE(recycled(decide(confirmed_at(110 * MB, defaults, boot), instance(), defaults, boot), Cause::limit,
                       Urgency::routine));
}

TEST(Decide, UrgentWaitsForTheShortCooldownOnly) {
  const WorkerRecord worker = confirmed_at(130 * MB, defaults, now);
  const Decision early = decide(worker, instance(now - 1s + 1ms), defaults, now);
  ASSERT_TRUE(held(early, HoldReason::cooldown));
  EXPECT_EQ(std::get<Hold>(early).until, now + 1ms);
  EXPECT_TRUE(recycled(decide(worker, instance(now - 1s), defaults, now), Cause::hard_limit, Urgency::hard_limit));
}

TEST(Decide, CrossingTheHardLimitInTheMiddleOfACooldownEndsIt) {
  const InstanceReading cooling = instance(now - 10s);
  WorkerRecord worker = confirmed_at(110 * MB, defaults, now);
  EXPECT_TRUE(held(decide(worker, cooling, defaults, now), HoldReason::cooldown));
  worker = observe(worker, statm(130 * MB), defaults, now + 100ms);
  EXPECT_TRUE(recycled(decide(worker, cooling, defaults, now + 100ms), Cause::hard_limit, Urgency::hard_limit));
}

TEST(Decide, ABusyWorkerWaitsForAQuietMomentUpToTheLongestDeferral) {
  RecyclePolicy policy;
  policy.busy_requests_per_second = 10;
  const auto at = [&](double requests_per_second, MonotonicTime moment) {
    WorkerRecord worker = confirmed_at(110 * MB, policy, now);
    worker.requests_per_second = requests_per_second;
    return decide(worker, instance(), policy, moment);
  };
  EXPECT_TRUE(held(at(10, now), HoldReason::busy));
  EXPECT_EQ(std::get<Hold>(at(10, now)).until, now + 60s);
  EXPECT_TRUE(recycled(at(9.99, now), Cause::limit, Urgency::routine));
  EXPECT_TRUE(held(at(10, now + 60s - 1ms), HoldReason::busy));
  EXPECT_TRUE(recycled(at(10, now + 60s), Cause::limit, Urgency::routine));
}

TEST(Decide, TheDeferralBeginsWhenTheCooldownIsOver) {
  RecyclePolicy policy;
  policy.busy_requests_per_second = 10;
  WorkerRecord worker = confirmed_at(110 * MB, policy, now);
  worker.requests_per_second = 10;
  const InstanceReading cooled = instance(now - 20s);  // until now + 100 s
  EXPECT_TRUE(held(decide(worker, cooled, policy, now + 100s - 1ms), HoldReason::cooldown));
  const Decision busy = decide(worker, cooled, policy, now + 100s);
  ASSERT_TRUE(held(busy, HoldReason::busy));
  EXPECT_EQ(std::get<Hold>(busy).until, now + 160s);
}

TEST(Decide, NothingUrgentIsDeferred) {
  RecyclePolicy policy;
  policy.busy_requests_per_second = 10;
  WorkerRecord worker = observe(worker_at(50 * MB), statm(130 * MB, 1000), policy, now);
  EXPECT_TRUE(recycled(decide(worker, instance(), policy, now), Cause::hard_limit, Urgency::hard_limit));
}

TEST(Decide, WithoutABusyRateNothingIsDeferred) {
  WorkerRecord worker = confirmed_at(110 * MB, defaults, now);
  worker.requests_per_second = 1e6;
  EXPECT_TRUE(recycled(decide(worker, instance(), defaults, now), Cause::limit, Urgency::routine));
}

TEST(Decide, PressureTakesItsVictimAndNobodyElse) {
  InstanceReading pressed = instance();
  pressed.headroom_bytes = 10 * MB;
  pressed.pressure = Pressure{WorkerId{1}, 80 * MB, 40 * MB, std::nullopt};
  const WorkerRecord victim = observe(worker_at(50 * MB), statm(90 * MB), defaults, now);
  EXPECT_TRUE(recycled(decide(victim, pressed, defaults, now), Cause::pressure, Urgency::pressure));
  WorkerRecord other = victim;
  other.worker = WorkerId{2};
  EXPECT_TRUE(kept(decide(other, pressed, defaults, now)));
}

TEST(Decide, PressureComesBeforeTheHardLimitAndKeepsToTheUrgentCooldown) {
  InstanceReading pressed = instance(now - 1s + 1ms);
  pressed.pressure = Pressure{WorkerId{1}, 80 * MB, 40 * MB, std::nullopt};
  const WorkerRecord victim = observe(worker_at(50 * MB), statm(140 * MB), defaults, now);
  EXPECT_TRUE(held(decide(victim, pressed, defaults, now), HoldReason::cooldown));
  EXPECT_TRUE(recycled(decide(victim, pressed, defaults, now + 1ms), Cause::pressure, Urgency::pressure));
}

TEST(Decide, PressureThatNobodysExitWouldEaseIsHeldAndSaysUntilWhen) {
  for (const HoldReason why : {HoldReason::nothing_to_free, HoldReason::pressure_futile}) {
    InstanceReading pressed = instance();
    pressed.pressure = Pressure{WorkerId{1}, 5 * MB, 40 * MB, why, now + 7s};
    const Decision decision =
        decide(observe(worker_at(50 * MB), statm(60 * MB), defaults, now), pressed, defaults, now);
    ASSERT_TRUE(held(decision, why));
    EXPECT_EQ(std::get<Hold>(decision).until, now + 7s);
    EXPECT_EQ(std::get<Hold>(decision).evidence.frees_bytes, 5 * MB);
    EXPECT_EQ(std::get<Hold>(decision).evidence.needs_bytes, 40 * MB);
  }
}

TEST(Decide, AHeldPressureDoesNotShieldAWorkerFromItsOwnLimits) {
  InstanceReading pressed = instance();
  pressed.pressure = Pressure{WorkerId{1}, 5 * MB, 40 * MB, HoldReason::nothing_to_free, now + 1s};
  EXPECT_TRUE(
      recycled(decide(confirmed_at(110 * MB, defaults, now), pressed, defaults, now), Cause::limit, Urgency::routine));
  EXPECT_TRUE(recycled(decide(confirmed_at(130 * MB, defaults, now), pressed, defaults, now), Cause::hard_limit,
                       Urgency::hard_limit));
}

TEST(Decide, RequestsLifetimeAndOperatorAreRoutineAndHaveTheSameCooldown) {
  const auto check = [](Cause cause, auto change_before, auto change_at) {
    for (const bool at : {false, true}) {
      WorkerRecord worker = worker_at(50 * MB);
      if (at) change_at(worker);
      else change_before(worker);
      worker = observe(worker, {50 * MB, worker.requests, 0, false}, defaults, now);
      EXPECT_EQ(recycled(decide(worker, instance(), defaults, now), cause, Urgency::routine), at) << name(cause);
      EXPECT_EQ(held(decide(worker, instance(now - 119s), defaults, now), HoldReason::cooldown) != nullptr, at);
    }
  };
  check(
      Cause::max_requests, [](WorkerRecord& w) { w.request_limit = 1000, w.requests = 999; },
      [](WorkerRecord& w) { w.request_limit = 1000, w.requests = 1000; });
  check(
      Cause::max_lifetime, [](WorkerRecord& w) { w.lifetime_end = now + 1ns; },
      [](WorkerRecord& w) { w.lifetime_end = now; });
  check(
      Cause::operator_request, [](WorkerRecord&) {}, [](WorkerRecord& w) { w.operator_request = true; });
}

TEST(Decide, AnOldWorkerThatIsAlsoOverItsLimitGoesForItsMemory) {
  WorkerRecord worker = confirmed_at(110 * MB, defaults, now);
  worker.operator_request = true;
  worker.lifetime_end = now;
  EXPECT_TRUE(recycled(decide(worker, instance(), defaults, now), Cause::limit, Urgency::routine));
}

TEST(Decide, AWorkerThatGoesForAnotherReasonDoesNotWaitForASecondReading) {
  WorkerRecord worker = observe(worker_at(50 * MB), statm(100 * MB), defaults, now);
  worker.operator_request = true;
  EXPECT_TRUE(recycled(decide(worker, instance(), defaults, now), Cause::operator_request, Urgency::routine));
}

TEST(Decide, WithoutALimitMemoryIsNoReason) {
  WorkerRecord worker = worker_at(50 * MB);
  worker.limit_bytes = worker.hard_limit_bytes = no_limit;
  for (int i = 0; i < 3; ++i) worker = observe(worker, smaps(1'000'000 * MB), defaults, now + i * 1s);
  EXPECT_TRUE(kept(decide(worker, instance(), defaults, now + 2s)));
}

TEST(Decide, TheEvidenceExplainsTheDecision) {
  WorkerRecord worker = observe(worker_at(50 * MB), {105 * MB, 700, 12, false}, defaults, now - 2s);
  worker = observe(worker, {131 * MB, 720, 12, true}, defaults, now - 1s);
  worker = observe(worker, {140 * MB, 750, 13, false}, defaults, now);
  const Decision decision = decide(worker, instance(now - 5s), defaults, now);
  ASSERT_TRUE(recycled(decision, Cause::hard_limit, Urgency::hard_limit));
  const Evidence& e = std::get<Recycle>(decision).evidence;
  EXPECT_EQ(e.rss_bytes, 140 * MB);
  EXPECT_EQ(e.limit_bytes, 100 * MB);
  EXPECT_EQ(e.hard_limit_bytes, 130 * MB);
  EXPECT_EQ(e.boot_rss_bytes, 50 * MB);
  EXPECT_EQ(e.headroom_bytes, 1000 * MB);
  EXPECT_EQ(e.requests, 750u);
  EXPECT_EQ(e.over_limit, Duration(2s));
  EXPECT_EQ(e.over_hard, Duration(1s));
  EXPECT_EQ(e.lifetime, Duration(1h));
  EXPECT_EQ(e.cooldown, Duration(1s));
  EXPECT_DOUBLE_EQ(e.requests_per_second, 13);
}
}  // namespace
}  // namespace moult
