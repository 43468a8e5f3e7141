#pragma once
// How many workers one instance may have: --workers, moult scale and TTIN agree. And how many spares: --spares.
namespace moult {
// More than this are a slip of the finger. A choice: 300 are run in the tests, gunicorn has no bound.
inline constexpr unsigned most_workers = 1000;
// None at all is `moult stop` (gunicorn's TTOU ends at one, too).
inline constexpr unsigned fewest_workers = 1;
// As many deaths at once are filled without a fork. A choice, and a lot: each is a process that waits.
inline constexpr unsigned most_spares = 100;
}  // namespace moult
