#pragma once
// "Did you mean ...?": the right name that is nearest to a wrong one. Pure.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
namespace moult {
// How many letters must be added, dropped, changed or swapped with their neighbour to make one of the other. Case does
// not count, and `_` is as good as `-`.
std::size_t edit_distance(std::string_view, std::string_view);

// Nothing if even the nearest is too far to be meant: more than a third of its letters, or more than three. A name
// that was cut short counts as near, if no other begins like it. The first of several equally near ones.
std::optional<std::string> nearest_name(std::string_view wrong, const std::vector<std::string_view>& right_ones);

// ": did you mean PREFIXnearest?", or ": OTHERWISE" when nothing is near.
std::string did_you_mean(std::string_view wrong, const std::vector<std::string_view>& right_ones,
                         std::string_view prefix, std::string_view otherwise);
}  // namespace moult
