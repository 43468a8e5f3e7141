#pragma once
// What every pure core returns. The shell asks next_deadline(state) for its one timer.
#include <vector>
namespace moult {
template <class State, class Action>
struct [[nodiscard]] Step {
  State state;
  std::vector<Action> actions;
};
template <class... Visitors>
struct Match : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Match(Visitors...) -> Match<Visitors...>;
struct TimePassed {};
}  // namespace moult
