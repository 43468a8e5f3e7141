#pragma once
// Pressure: the instance has too little headroom left, whoever took it. Which worker's exit would help most, and would
// it help at all? Pure.
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/ids.h"
#include "recycler/policy.h"
#include "recycler/reason.h"
namespace moult {
// What only this worker holds (USS, from smaps_rollup): what its exit gives back. Its successor takes again what it
// took at READY, so a replacement frees the difference.
struct Footprint {
  WorkerId worker;
  std::uint64_t private_bytes, boot_private_bytes;
};
struct HeadroomLook {
  std::uint64_t headroom_bytes;
  std::uint64_t being_freed_bytes;  // what workers that already leave will give back: they are not to go in vain
};
// How earlier pressure recycles went.
struct PressureHistory {
  unsigned futile = 0;  // in a row
  MonotonicTime stopped_until{};
};
// The instance is under pressure, and this is the worker that would free most.
struct Pressure {
  WorkerId victim;
  std::uint64_t frees_bytes, needs_bytes;
  std::optional<HoldReason> held;  // nothing_to_free or pressure_futile: it is not to go
  MonotonicTime until{};           // judged again then at the latest
};

inline constexpr std::uint64_t least_to_free_bytes = 32 * megabyte;  // less is noise beside a fork
inline constexpr unsigned most_futile = 2;                           // then pressure recycles stop ...
inline constexpr Duration futile_pause = std::chrono::minutes(10);   // ... for so long

bool under_pressure(const HeadroomLook&, const RecyclePolicy&);
// None: no pressure, or nobody to choose from. Footprints are read under pressure only: they cost milliseconds.
std::optional<Pressure> choose_victim(const HeadroomLook&, std::span<const Footprint>, const PressureHistory&,
                                      const RecyclePolicy&, MonotonicTime now);
// What a pressure recycle has given to the instance, from two looks: when it began and when it is judged. What our own
// workers took meanwhile, or gave back by ending, is neither its fault nor its merit.
struct RecycleBefore {
  std::uint64_t headroom_bytes, own_bytes, successor_bytes;  // own: without the victim's; successor's: expected
};
std::uint64_t freed_bytes(const RecycleBefore&, std::uint64_t headroom_bytes, std::uint64_t own_bytes);
// After a pressure recycle. The step into stopped_until is the event `pressure_futile`.
PressureHistory after_pressure_recycle(PressureHistory, std::uint64_t freed_bytes, std::uint64_t needed_bytes,
                                       MonotonicTime now);
}  // namespace moult
