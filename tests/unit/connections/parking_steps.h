#pragma once
// The parking under a test, in virtual time, with room for three.
#include "master/connections/parking.h"
#include "tests/unit/connections/core_test.h"
namespace moult {
inline std::string in_words(const ParkingAction& action) {
  const auto number = [](auto id) { return std::to_string(id.value); };
  return std::visit(Match{[&](const TakeIn& a) { return "take in " + number(a.id); },
                          [&](const TurnAway& a) { return "turn away " + number(a.id); },
                          [&](const LookAgain& a) { return "look again at " + number(a.id); },
                          [&](const OfferTo& a) { return "offer " + number(a.id) + " to worker " + number(a.worker); },
                          [&](const LetGo& a) { return "let go " + number(a.id); },
                          [&](const CloseIdle& a) { return "close " + number(a.id); },
                          [&](const RefuseCaller& a) { return "refuse " + number(a.id); }},
                    action);
}

class ParkingTest : public CoreTest<Parking, ParkingEvent, ParkingAction, ParkingPolicy> {
 protected:
  ParkingTest()
      : CoreTest(in_words, {.most = 3,
                            .keep_alive = std::chrono::seconds(75),
                            .patience = std::chrono::seconds(30),
                            .rest = std::chrono::milliseconds(100),
                            .most_offers = 2}) {}
  void park(std::uint64_t id) {
    ASSERT_THAT(post(Arrived{{id}}), testing::ElementsAre("take in " + std::to_string(id)));
  }
  ConnectionState state_of(std::uint64_t id) const { return parking.connections.at({id}).state; }

  Parking& parking = state;
};
}  // namespace moult
