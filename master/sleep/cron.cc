#include "master/sleep/cron.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>
namespace moult {
namespace {
using Names = std::vector<std::string_view>;

struct Field {
  std::string name;
  unsigned lowest, highest;
  Names names = {};  // of lowest, lowest + 1, ...
  std::string right() const {
    const std::string numbers = std::to_string(lowest) + " to " + std::to_string(highest);
    return names.empty() ? numbers
                         : numbers + ", or " + std::string(names.front()) + " to " + std::string(names.back());
  }
};

const std::array<Field, 5>& fields() {
  static const std::array<Field, 5> all{
      {{"minute", 0, 59},
       {"hour", 0, 23},
       {"day of the month", 1, 31},
       {"month", 1, 12, {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
       {"day of the week", 0, 7, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}}};
  return all;
}

Names split(std::string_view text, std::string_view separators) {
  Names parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find_first_of(separators, from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

std::optional<unsigned> whole_number(std::string_view text) {
  unsigned number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

bool same_letters(std::string_view a, std::string_view b) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, small, small);
}

Result<unsigned> value_of(const Field& field, std::string_view text) {
  for (std::size_t i = 0; i < field.names.size(); ++i)
    if (same_letters(text, field.names[i])) return field.lowest + static_cast<unsigned>(i);
  const auto number = whole_number(text);
  if (!number) return Error{"the " + field.name + " is not a value, list, range or step: " + field.right()};
  if (*number < field.lowest || *number > field.highest)
    return Error{"the " + field.name + " " + std::to_string(*number) + " is out of range: " + field.right()};
  return *number;
}

struct Span {
  unsigned from, to;
};

Result<Span> span_of(const Field& field, std::string_view text) {
  if (text == "*") return Span{field.lowest, field.highest};
  const auto dash = text.find('-');
  const auto from = value_of(field, text.substr(0, dash));
  if (!from) return from.error();
  if (dash == std::string_view::npos) return Span{*from, *from};
  const auto to = value_of(field, text.substr(dash + 1));
  if (!to) return to.error();
  if (*to < *from) return Error{"a range of the " + field.name + " goes backwards: write it as two"};
  return Span{*from, *to};
}

// The values of one field, as bits.
Result<std::bitset<64>> values_of(const Field& field, std::string_view text) {
  std::bitset<64> values;
  for (const auto part : split(text, ",")) {
    const auto slash = part.find('/');
    const auto range = part.substr(0, slash);
    const auto span = span_of(field, range);
    if (!span) return span.error();
    unsigned step = 1;
    if (slash != std::string_view::npos) {
      const auto number = whole_number(part.substr(slash + 1));
      const unsigned most = field.highest - field.lowest + 1;
      if (!number || *number < 1 || *number > most)
        return Error{"a step of the " + field.name + " is not a number from 1 to " + std::to_string(most)};
      if (range != "*" && range.find('-') == std::string_view::npos)
        return Error{"a step of the " + field.name + " does not follow * or a range"};
      step = *number;
    }
    for (unsigned value = span->from; value <= span->to; value += step) values.set(value);
  }
  return values;
}

template <std::size_t N>
std::bitset<N> narrowed(const std::bitset<64>& values) {
  return std::bitset<N>(values.to_ullong());
}

bool has_a_day(const Cron& cron) {
  constexpr unsigned longest[] = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (cron.either_day) return true;
  for (unsigned month = 1; month <= 12; ++month)
    for (unsigned day = 1; day <= longest[month]; ++day)
      if (cron.months[month] && cron.days[day]) return true;
  return false;
}

// --- moments

bool has_day(const Cron& cron, const absl::CivilDay& day) {
  if (!cron.months[static_cast<std::size_t>(day.month())]) return false;
  const auto weekday = (static_cast<std::size_t>(absl::GetWeekday(day)) + 1) % 7;  // Monday is 0 there
  const bool by_month = cron.days[static_cast<std::size_t>(day.day())], by_week = cron.weekdays[weekday];
  return cron.either_day ? by_month || by_week : by_month && by_week;
}
bool has_hour(const Cron& cron, const absl::CivilHour& hour) {
  return cron.hours[static_cast<std::size_t>(hour.hour())];
}
bool has_minute(const Cron& cron, const absl::CivilMinute& minute) {
  return cron.minutes[static_cast<std::size_t>(minute.minute())];
}
bool has(const Cron& cron, const absl::CivilMinute& minute) {
  return has_day(cron, absl::CivilDay(minute)) && has_hour(cron, absl::CivilHour(minute)) && has_minute(cron, minute);
}

// Did clocks jump to this local minute, and over one that is due?
bool jumps_over_one(const Cron& cron, const absl::TimeZone& zone, absl::CivilMinute local) {
  while (zone.At(absl::CivilSecond(--local)).kind == absl::TimeZone::TimeInfo::SKIPPED)
    if (has(cron, local)) return true;
  return false;
}

bool comes_the_second_time(const absl::TimeZone& zone, const absl::CivilMinute& local, absl::Time at) {
  const auto moments = zone.At(absl::CivilSecond(local));
  return moments.kind == absl::TimeZone::TimeInfo::REPEATED && at >= moments.trans;
}

// The first moment after `at` at which clocks show `local`, or have jumped over it.
absl::Time next_moment(const absl::TimeZone& zone, const absl::CivilSecond& local, absl::Time at) {
  const auto moments = zone.At(local);
  const bool jumped = moments.kind == absl::TimeZone::TimeInfo::SKIPPED;
  const absl::Time first = jumped ? moments.trans : moments.pre;
  if (first > at) return first;
  return std::max(moments.post, at + absl::Minutes(1));  // it never stands still, whatever a zone's file says
}
}  // namespace

Result<Cron> parse_cron(std::string_view text) {
  Names words = split(text, " \t");
  std::erase(words, "");
  if (words.size() != fields().size())
    return Error{"has " + std::to_string(words.size()) + (words.size() == 1 ? " field" : " fields") +
                 ", not five: minute, hour, day of the month, month, day of the week"};
  std::array<std::bitset<64>, 5> values;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto read = values_of(fields()[i], words[i]);
    if (!read) return read.error();
    values[i] = *read;
  }
  if (values[4][7]) values[4].set(0);
  values[4].reset(7);
  const Cron cron{narrowed<60>(values[0]), narrowed<24>(values[1]), narrowed<32>(values[2]),
                  narrowed<13>(values[3]), narrowed<7>(values[4]),  words[2][0] != '*' && words[4][0] != '*'};
  if (!has_a_day(cron)) return Error{"is never due: no such month has such a day"};
  return cron;
}

std::optional<WallTime> next_cron_time(const Cron& cron, const absl::TimeZone& zone, WallTime after) {
  const bool every_hour = cron.hours.all();
  absl::Time at = absl::FromChrono(std::chrono::floor<std::chrono::minutes>(after)) + absl::Minutes(1);
  const absl::Time end = std::min(at + absl::FromChrono(farthest_cron_time), absl::FromChrono(WallTime::max()));
  while (at < end) {
    const absl::CivilMinute local(zone.At(at).cs);
    if (!every_hour && jumps_over_one(cron, zone, local)) return absl::ToChronoTime(at);
    if (!has_day(cron, absl::CivilDay(local))) {
      at = next_moment(zone, absl::CivilSecond(absl::CivilDay(local) + 1), at);
    } else if (!has_hour(cron, absl::CivilHour(local))) {
      at = next_moment(zone, absl::CivilSecond(absl::CivilHour(local) + 1), at);
    } else if (has_minute(cron, local) && (every_hour || !comes_the_second_time(zone, local, at))) {
      return absl::ToChronoTime(at);
    } else {
      at += absl::Minutes(1);
    }
  }
  return std::nullopt;
}
}  // namespace moult
