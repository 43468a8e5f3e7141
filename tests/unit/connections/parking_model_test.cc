// Random clients, workers, sleeps and times around the parking. After each step: nothing is overdue, nobody waits
// without need, no connection is offered to two, the bound is held; and asleep nobody's time runs out. At the end: each
// that arrived has ended, exactly once.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "master/connections/parking.h"
namespace moult {
namespace {
using namespace std::chrono_literals;

enum class Ending { given, closed, declined, refused };

struct World {
  explicit World(unsigned seed) : random(seed) {
    policy.most = 1 + below(12);
    policy.most_offers = 1 + below(4);
    policy.most_accepted = below(4);
  }

  unsigned below(unsigned n) { return static_cast<unsigned>(random() % n); }
  void post(const ParkingEvent& event) {
    queue.push_back(event);
    if (queue.size() > 1) return;  // as Machine has it: no event inside another
    while (!queue.empty()) {
      const bool over = parking.ends;
      auto step = transition(std::move(parking), queue.front(), policy, now);
      parking = std::move(step.state);
      if (over) { ASSERT_TRUE(parking.ends); }
      ++steps;
      for (const ParkingAction& action : step.actions) std::visit([&](const auto& a) { perform(a); }, action);
      check();
      queue.erase(queue.begin());
    }
  }

  // --- what is done, and must make sense

  void perform(const TakeIn& a) {
    ASSERT_TRUE(arrived.contains(a.id) && !ended.contains(a.id));
    ASSERT_TRUE(ours.insert(a.id).second);
    arrived_at[a.id] = now;
  }
  void perform(const LookAgain& a) {
    ASSERT_TRUE(ours.contains(a.id));
    const MonotonicTime silent_from = std::max(arrived_at.at(a.id), woke_at);
    ASSERT_TRUE(parking.ends || (!parking.sleeps && silent_from + policy.keep_alive <= now)) << "its time is not over";
    switch (below(4)) {
      case 0: spoke_at[a.id] = now; return queue.push_back(ClientSpoke{a.id});
      case 1: return queue.push_back(ClientHungUp{a.id});
      default: return queue.push_back(ClientSilent{a.id});
    }
  }
  void perform(const OfferTo& a) {
    ASSERT_TRUE(ours.contains(a.id));
    ASSERT_TRUE(offered.emplace(a.id, a.worker).second) << "two were told";
    ASSERT_TRUE(serving.contains(a.worker));
    ASSERT_LE(rests[a.worker], now);
    ASSERT_FALSE(parking.ends);
  }
  void perform(const LetGo& a) { end(a.id, Ending::given); }
  void perform(const CloseIdle& a) { end(a.id, Ending::closed); }
  void perform(const RefuseCaller& a) {
    end(a.id, Ending::refused);
    const bool window = now < parking.refuse_until;
    ASSERT_EQ(a.come_again_in, window ? parking.refuse_until - now : Duration::zero());
    const MonotonicTime waits_from = std::max(spoke_at.at(a.id), woke_at);
    const bool is_due = !parking.sleeps && waits_from + policy.patience <= now;
    ASSERT_TRUE(parking.ends || window || is_due) << "refused too soon";
  }
  void perform(const TurnAway& a) {
    if (!ours.contains(a.id)) ours.insert(a.id);
    end(a.id, Ending::declined);
  }
  void end(ConnectionId id, Ending how) {
    ASSERT_TRUE(ours.erase(id) == 1) << "it was nobody's to end";
    ASSERT_TRUE(ended.emplace(id, how).second) << "it had ended";
    ASSERT_FALSE(offered.contains(id)) << "a worker may have it";
  }

  // --- what must be true after each step

  void check() {
    ASSERT_LE(parking.connections.size(), policy.most + policy.most_accepted);
    Parking::Queue idle, callers;
    std::map<WorkerId, std::size_t> offers;
    for (const auto& [id, each] : parking.connections) {
      ASSERT_TRUE(ours.contains(id));
      if (each.state == ConnectionState::parked) idle.emplace(each.until, id);
      if (each.state == ConnectionState::calling) callers.emplace(each.until, id);
      ASSERT_EQ(each.state == ConnectionState::offered, offered.contains(id));
      ASSERT_EQ(each.offered_to, each.state == ConnectionState::offered ? offered.at(id) : WorkerId{});
      if (each.state == ConnectionState::offered) ++offers[each.offered_to];
    }
    ASSERT_EQ(ours.size(), parking.connections.size());
    ASSERT_EQ(idle, parking.idle);
    ASSERT_EQ(callers, parking.callers);
    ASSERT_TRUE(idle.empty() || parking.sleeps || idle.begin()->first > now) << "overdue";
    ASSERT_TRUE(callers.empty() || parking.sleeps || callers.begin()->first > now) << "overdue";
    ASSERT_TRUE(callers.empty() || parking.refuse_until <= now) << "a caller waits in a refusal";
    ASSERT_GT(next_deadline(parking, now), now);
    for (const Adopter& each : parking.adopters) {
      ASSERT_TRUE(serving.contains(each.id));
      ASSERT_EQ(each.offers, offers[each.id]);
      const bool could = each.offers < policy.most_offers && each.rests_until <= now;
      ASSERT_FALSE(could && !callers.empty()) << "a caller waits without need";
      if (!callers.empty() && each.rests_until > now) { ASSERT_LE(next_deadline(parking, now), each.rests_until); }
    }
    ASSERT_TRUE(!parking.ends || (idle.empty() && callers.empty()));
    const ParkingCounts& c = parking.counts;
    ASSERT_EQ(c.given + c.closed_by_client + c.timed_out + c.closed_at_stop + c.refused + c.declined, ended.size());
    ASSERT_EQ(c.parked + c.accepted, parking.connections.size() + ended.size() - c.declined);
    if (queue.size() == 1) { ASSERT_EQ(is_quiet(parking), callers.empty() && offered.empty()); }  // nobody is ending
  }

  // --- what happens

  ConnectionId some_connection() { return {1 + below(static_cast<unsigned>(last_connection) + 2)}; }
  WorkerId some_worker() { return {1 + below(static_cast<unsigned>(last_worker) + 1)}; }
  bool is_idle(ConnectionId id) const {
    const auto found = parking.connections.find(id);
    return found != parking.connections.end() && found->second.state == ConnectionState::parked;
  }

  void arrive() {
    const ConnectionId id{++last_connection};
    arrived.insert(id);
    post(Arrived{id});
    if (below(50) == 0) post(CannotWatch{id});
  }
  void come() {
    if (!has_room_for(parking, policy, 1)) return;
    const ConnectionId id{++last_connection};
    arrived.insert(id);
    post(Came{id});
    if (below(50)) return;
    spoke_at[id] = now;  // as if it had
    post(CannotWatch{id});
  }
  void accept() {
    if (!takes_accepted(parking, policy)) return;
    const ConnectionId id{++last_connection};
    arrived.insert(id);
    ours.insert(id);
    spoke_at[id] = now;
    post(Accepted{id});
  }
  void speak(ConnectionId id) {
    if (is_idle(id)) spoke_at[id] = now;
    post(ClientSpoke{id});
  }
  void answer() {
    if (offered.empty()) return;
    const auto offer = *std::next(offered.begin(), below(static_cast<unsigned>(offered.size())));
    offered.erase(offer.first);
    if (below(3)) return post(AdoptedBy{offer.first, offer.second});
    rests[offer.second] = now + policy.rest;
    post(DeclinedBy{offer.first, offer.second});
  }
  void one_is_left() {
    for (const auto& [until, id] : parking.idle)
      if (until - policy.keep_alive + policy.thought > now) spoke_at[id] = now;  // as if it had
    post(OneIsLeft{});
  }
  void sleep_or_wake() {
    if (!parking.sleeps) return post(Sleeps{});
    woke_at = now;
    post(Wakes{});
  }
  void refuse() { post(RefuseUntil{below(2) ? now + 1ms * below(8000) : MonotonicTime::min()}); }
  void leave(WorkerId id) {
    serving.erase(id);
    post(AdopterLeaves{id});
  }
  void go(WorkerId id) {
    serving.erase(id);
    gone.insert(id);
    std::erase_if(offered, [id](const auto& each) { return each.second == id; });
    post(AdopterGone{id});
  }
  void serve() {
    WorkerId id = some_worker();
    if (gone.contains(id) || id.value > last_worker || below(3)) id = {++last_worker};  // else it serves once more
    if (serving.insert(id).second) rests.erase(id);  // who serves anew is asked at once
    post(AdopterServes{id});
  }
  void pass_time() {
    const MonotonicTime due = next_deadline(parking, now);
    const MonotonicTime later = now + 1ms * (1 + below(below(3) ? 200 : 40000));
    now = below(2) && due != never ? due : std::min(later, due);  // asleep nothing is due, mostly
    if (now == due) post(TimePassed{});                           // else it is only later
  }
  // A late answer, from somebody who was not asked.
  void nonsense() {
    const ConnectionId id = some_connection();
    const WorkerId worker = some_worker();
    if (offered.contains(id) && offered.at(id) == worker) return;
    if (below(2)) post(AdoptedBy{id, worker});
    else post(DeclinedBy{id, worker});
  }
  void something() {
    switch (below(20)) {
      case 0:
      case 1:
      case 2: return arrive();
      case 3:
      case 4: return speak(some_connection());
      case 5: return post(ClientHungUp{some_connection()});
      case 6:
      case 7: return answer();
      case 8: return serving.size() < 4 ? serve() : leave(*serving.begin());
      case 9: return below(3) ? void() : go(some_worker());
      case 10: return nonsense();
      case 11: return post(AdopterHeard{some_worker(), now - 1ms * below(4000)});
      case 12: return accept();
      case 13: return below(3) ? void() : one_is_left();
      case 14: return below(3) ? void() : sleep_or_wake();
      case 15: return below(4) ? void() : refuse();
      case 16: return come();
      default: return pass_time();
    }
  }
  void finish() {
    post(ServiceEnds{});
    for (int i = 0; i < 10; ++i) arrive();
    for (std::uint64_t id = 1; id <= last_worker; ++id) go({id});
    ASSERT_TRUE(parking.connections.empty());
    ASSERT_EQ(ended.size(), arrived.size());
  }

  std::mt19937_64 random;
  ParkingPolicy policy{.keep_alive = 20s, .patience = 5s};
  MonotonicTime now{100s};
  Parking parking;
  std::vector<ParkingEvent> queue;
  std::set<ConnectionId> arrived, ours;
  std::map<ConnectionId, Ending> ended;
  std::map<ConnectionId, WorkerId> offered;
  std::map<ConnectionId, MonotonicTime> arrived_at, spoke_at;
  MonotonicTime woke_at{};
  std::set<WorkerId> serving, gone;
  std::map<WorkerId, MonotonicTime> rests;
  std::uint64_t last_connection = 0, last_worker = 0;
  long steps = 0;
};

TEST(ParkingModel, EachThatArrivedEndsExactlyOnceWhateverHappens) {
  long steps = 0;
  std::map<Ending, std::size_t> endings;
  std::uint64_t timed_out = 0, closed_by_client = 0;
  for (unsigned seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    for (int i = 0; i < 300 && !testing::Test::HasFatalFailure(); ++i) world.something();
    if (!testing::Test::HasFatalFailure()) world.finish();
    if (testing::Test::HasFatalFailure()) return;
    steps += world.steps;
    timed_out += world.parking.counts.timed_out;
    closed_by_client += world.parking.counts.closed_by_client;
    for (const auto& [id, how] : world.ended) ++endings[how];
  }
  // The storms reach every end, and often.
  EXPECT_GT(steps, 200'000);
  for (const Ending each : {Ending::given, Ending::closed, Ending::declined, Ending::refused})
    EXPECT_GT(endings[each], 1000u) << static_cast<int>(each);
  EXPECT_GT(timed_out, 1000u);
  EXPECT_GT(closed_by_client, 1000u);
}
}  // namespace
}  // namespace moult
