#pragma once
// A moment of the wall clock as RFC 3339 in UTC with milliseconds: "2026-01-02T03:04:05.678Z". Pure.
#include <string>

#include "base/clock.h"
namespace moult {
std::string rfc3339(WallTime);
}  // namespace moult
