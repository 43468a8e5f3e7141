#pragma once
// The scoreboard: what a worker tells without being asked, in memory that it shares with the master.
//
// One memfd a worker, made by the master, sealed against resize, mapped by both. Every field is an aligned 64-bit word
// in native byte order with exactly one writer; so a read is never torn and nobody locks (measured from Python: 21 ns a
// store, none torn in 6e8 reads). Mirrored by worker/python/moult/contract.py, held equal by a test.
#include <cstddef>
#include <cstdint>
namespace moult {
inline constexpr std::uint64_t scoreboard_magic = 0x31'42'53'54'4c'55'4f'4d;  // "MOULTSB1", little endian
inline constexpr std::uint64_t scoreboard_version = 1;                        // another version is refused
inline constexpr std::size_t scoreboard_bytes = 4096;

enum class ScoreboardField : std::size_t {
  magic,              // written by the master before the worker sees it
  version,            // likewise
  requests_started,   // by visitors
  requests_finished,  // rises in a `finally`, when the write buffer is empty
  calls_started,      // scheduled calls, which come through the internal door
  calls_finished,
  last_visitor_activity_ns,  // CLOCK_MONOTONIC; zero: none yet. Of interest while none is in flight
  heartbeat_ns,              // CLOCK_MONOTONIC of the last turn of the worker's loop; zero: none yet
  oldest_plain_request_ns,   // CLOCK_MONOTONIC at which the oldest request in flight began that is neither upgraded nor
                             // streaming; zero: none. Wanted only if the setting request_timeout_seconds is not 0
  open_connections,
  upgraded_connections,  // WebSockets; in flight for as long as they are open
  responses_5xx,
  count
};
}  // namespace moult
