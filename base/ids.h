#pragma once
#include <compare>
#include <cstdint>
namespace moult {
template <class Tag>
struct Id {
  std::uint64_t value = 0;
  auto operator<=>(const Id&) const = default;
  explicit operator bool() const { return value != 0; }
};
using WorkerId = Id<struct WorkerTag>;          // one process; never used twice
using Generation = Id<struct GenerationTag>;    // one load of the app's code
using ConnectionId = Id<struct ConnectionTag>;  // one parked client connection
using AskId = Id<struct AskTag>;                // one question to the gate
}  // namespace moult
