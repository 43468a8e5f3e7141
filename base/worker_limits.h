#pragma once
// How many workers one instance may have: --workers, moult scale and TTIN agree.
namespace moult {
// More than this are a slip of the finger. A choice: 300 are run in the tests, gunicorn has no bound.
inline constexpr unsigned most_workers = 1000;
// None at all is `moult stop` (gunicorn's TTOU ends at one, too).
inline constexpr unsigned fewest_workers = 1;
}  // namespace moult
