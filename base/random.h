#pragma once
// A small deterministic source of randomness (SplitMix64), kept as a value in a core's state so that every run of a
// core can be repeated from its seed. Not for secrets.
#include <cstdint>

#include "base/clock.h"
namespace moult {
struct Random {
  std::uint64_t state = 0;

  std::uint64_t next() {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // [0, 1)
  double between(double low, double high) { return low + (high - low) * unit(); }
  Duration up_to(Duration most) {
    return Duration(static_cast<Duration::rep>(static_cast<double>(most.count()) * unit()));
  }
};
}  // namespace moult
