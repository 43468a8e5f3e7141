#include "master/config/nearest_name.h"

#include <algorithm>
namespace moult {
namespace {
constexpr std::size_t longest_compared = 64;  // a longer word is no slip of the hand
constexpr std::size_t shortest_beginning = 3;

char plain(char letter) {
  if (letter == '_') return '-';
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = plain(a[i - 1]) == plain(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && plain(a[i - 1]) == plain(b[j - 2]) && plain(a[i - 2]) == plain(b[j - 1]) && !same;
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

std::optional<std::string> nearest_name(std::string_view wrong, const std::vector<std::string_view>& right_ones) {
  if (wrong.size() > longest_compared) return std::nullopt;
  std::string_view nearest;
  std::size_t distance = longest_compared;
  std::vector<std::string_view> longer;
  for (const auto right : right_ones) {
    if (wrong.size() >= shortest_beginning && right.starts_with(wrong)) longer.push_back(right);
    const std::size_t steps = edit_distance(wrong, right);
    if (steps >= distance) continue;
    nearest = right;
    distance = steps;
  }
  if (distance < nearest.size() && distance <= std::clamp<std::size_t>(nearest.size() / 3, 1, 3))
    return std::string(nearest);
  if (longer.size() == 1) return std::string(longer.front());
  return std::nullopt;
}

std::string did_you_mean(std::string_view wrong, const std::vector<std::string_view>& right_ones,
                         std::string_view prefix, std::string_view otherwise) {
  const auto nearest = nearest_name(wrong, right_ones);
  if (!nearest) return ": " + std::string(otherwise);
  return ": did you mean " + std::string(prefix) + *nearest + "?";
}
}  // namespace moult
