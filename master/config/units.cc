#include "master/config/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "master/config/in_quotes.h"
#include "master/config/nearest_name.h"
namespace moult {
namespace {
struct Unit {
  std::string_view suffix;
  double factor;
};
constexpr std::array<Unit, 5> time_units{{{"", 1e3}, {"ms", 1}, {"s", 1e3}, {"m", 60e3}, {"h", 3600e3}}};  // in ms
constexpr std::array<Unit, 8> size_units{
    {{"", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"%", 1}}};

// "1.5GB" is 1.5 and "GB"; no sign, no exponent. False: it does not begin with a number.
bool split_number(std::string_view text, double& number, std::string_view& suffix) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error == std::errc::result_out_of_range) number = HUGE_VAL;
  suffix = std::string_view(rest, static_cast<std::size_t>(end - rest));
  return true;
}

template <std::size_t N>
Result<double> factor_of(std::string_view text, std::string_view suffix, const std::array<Unit, N>& units,
                         const std::string& right_ones) {
  std::vector<std::string_view> names;
  for (const Unit& unit : units) {
    if (unit.suffix == suffix) return unit.factor;
    if (!unit.suffix.empty()) names.push_back(unit.suffix);
  }
  const auto nearest = nearest_name(suffix, names);
  return Error{in_quotes(text) + " has the unknown unit " + in_quotes(suffix) +
               (nearest ? ": did you mean " + *nearest + "? " : ": ") + right_ones};
}

bool looks_negative(std::string_view text) {
  return text.size() > 1 && text[0] == '-' && text[1] >= '0' && text[1] <= '9';
}
}  // namespace

Result<std::uint64_t> parse_number(std::string_view text, Range<std::uint64_t> range) {
  const std::string right = std::to_string(range.lowest) + " to " + std::to_string(range.highest);
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const bool too_large = error == std::errc::result_out_of_range && rest == end;
  if (!looks_negative(text) && !too_large && (error != std::errc{} || rest != end))
    return Error{in_quotes(text) + " is not a whole number from " + right};
  if (looks_negative(text) || too_large || number < range.lowest || number > range.highest)
    return Error{in_quotes(text) + " is out of range: " + right};
  return number;
}

Result<milliseconds> parse_time(std::string_view text, Range<milliseconds> range) {
  const std::string right = time_text(range.lowest) + " to " + time_text(range.highest);
  if (looks_negative(text)) return Error{in_quotes(text) + " is out of range: " + right};
  double number = 0;
  std::string_view suffix;
  if (!split_number(text, number, suffix))
    return Error{in_quotes(text) + " is not a time: write seconds, or a number with ms, s, m or h"};
  const auto factor = factor_of(text, suffix, time_units, "times are seconds, or ms, s, m, h");
  if (!factor) return factor.error();
  const double time = number * *factor;
  if (time < static_cast<double>(range.lowest.count()) || time > static_cast<double>(range.highest.count()) ||
      (time > 0 && time < 1))
    return Error{in_quotes(text) + " is out of range: " + right};
  return milliseconds(std::llround(time));
}

Result<Size> parse_size(std::string_view text) {
  const std::string right = "sizes are bytes, or kB, MB, GB, KiB, MiB, GiB, or % of the cgroup's limit";
  if (looks_negative(text)) return Error{in_quotes(text) + " is out of range: a size is above zero"};
  double number = 0;
  std::string_view suffix;
  if (!split_number(text, number, suffix)) return Error{in_quotes(text) + " is not a size: " + right};
  const auto factor = factor_of(text, suffix, size_units, right);
  if (!factor) return factor.error();
  if (suffix == "%") {
    if (number <= 0 || number > 100) return Error{in_quotes(text) + " is out of range: above 0% to 100%"};
    return Size{0, number};
  }
  const double bytes = std::floor(number * *factor);
  if (bytes < 1 || bytes > static_cast<double>(most_bytes))
    return Error{in_quotes(text) + " is out of range: 1 to " + std::to_string(most_bytes) + " bytes"};
  return Size{static_cast<std::uint64_t>(bytes), 0};
}

Result<double> parse_percent(std::string_view text) {
  double number = 0;
  std::string_view suffix;
  const bool read = !looks_negative(text) && split_number(text, number, suffix) && suffix == "%";
  if (read && number <= 100) return number;
  const bool only_a_number = !looks_negative(text) && split_number(text, number, suffix) && suffix.empty();
  return Error{in_quotes(text) + " is not a share: 0% to 100%" +
               (only_a_number && number <= 100 ? "; did you mean " + std::string(text) + "%?" : "")};
}

Result<unsigned> parse_whole_percent(std::string_view text) {
  const auto share = parse_percent(text);
  if (!share) return share.error();
  const auto whole = static_cast<unsigned>(*share);
  if (*share == whole) return whole;
  return Error{in_quotes(text) + " is not a whole percentage: write " + std::to_string(whole) + "% or " +
               std::to_string(whole + 1) + "%"};
}

Result<unsigned> parse_mode(std::string_view text) {
  unsigned mode = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, mode, 8);
  if (error != std::errc{} || rest != end || mode > 0777)
    return Error{in_quotes(text) + " is not an octal mode from 0 to 0777"};
  return mode;
}

Result<double> parse_rate(std::string_view text) {
  constexpr double highest = 1e6;
  double rate = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), rate);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size() && rate > 0 && rate <= highest) return rate;
  return Error{in_quotes(text) + " is not a rate: a number above 0, at most 1000000"};
}

Result<bool> parse_toggle(std::string_view text) {
  for (const auto on : {"on", "true", "yes", "1"})
    if (text == on) return true;
  for (const auto off : {"off", "false", "no", "0"})
    if (text == off) return false;
  return Error{in_quotes(text) + " is neither on nor off"};
}

std::string time_text(milliseconds time) {
  const auto count = time.count();
  if (count == 0) return "0s";
  if (count % 3600'000 == 0) return std::to_string(count / 3600'000) + "h";
  if (count % 60'000 == 0) return std::to_string(count / 60'000) + "m";
  if (count % 1000 == 0) return std::to_string(count / 1000) + "s";
  return std::to_string(count) + "ms";
}
}  // namespace moult
