#include "tools/event_history/moment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
namespace moult {
namespace {
constexpr int first_year = 1970, last_year = 2199;
constexpr double milliseconds_from = 1e11;
constexpr double last_second = 7258118400;  // the end of last_year

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// Takes what it is asked for from the front of a text, or says no and leaves the text as it may be.
struct Scanner {
  std::string_view rest;

  bool digits(std::size_t count, int& number) {
    if (rest.size() < count || !std::all_of(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count), is_digit))
      return false;
    std::from_chars(rest.data(), rest.data() + count, number);
    rest.remove_prefix(count);
    return true;
  }
  bool letter(std::string_view choices) {
    if (rest.empty() || choices.find(rest.front()) == choices.npos) return false;
    rest.remove_prefix(1);
    return true;
  }
  bool word(std::string_view text) {
    if (!rest.starts_with(text)) return false;
    rest.remove_prefix(text.size());
    return true;
  }
};

struct Parts {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  Duration fraction{};
  std::optional<std::chrono::minutes> offset;
};

// Nanoseconds; finer digits are dropped.
Duration fraction(Scanner& text) {
  Duration::rep nanoseconds = 0, unit = 100'000'000;
  for (; !text.rest.empty() && is_digit(text.rest.front()); text.rest.remove_prefix(1), unit /= 10)
    nanoseconds += (text.rest.front() - '0') * unit;
  return Duration(nanoseconds);
}

bool read_time_of_day(Scanner& text, Parts& parts) {
  if (!text.digits(2, parts.hour) || !text.letter(":") || !text.digits(2, parts.minute)) return false;
  if (!text.letter(":")) return true;
  if (!text.digits(2, parts.second)) return false;
  Scanner further = text;
  if (further.letter(".,") && !further.rest.empty() && is_digit(further.rest.front())) {
    parts.fraction = fraction(further);
    text = further;
  }
  return true;
}

// Nothing is taken where there is no zone.
void read_zone(Scanner& text, Parts& parts) {
  Scanner zone = text;
  zone.letter(" ");
  int hours = 0, minutes = 0;
  if (zone.word("UTC") || zone.word("GMT") || zone.letter("Zz")) {
    parts.offset = std::chrono::minutes(0);
  } else {
    const bool west = zone.rest.starts_with('-');
    if (!zone.letter("+-") || !zone.digits(2, hours)) return;
    zone.letter(":");
    if (!zone.digits(2, minutes) || hours > 23 || minutes > 59) return;
    const std::chrono::minutes size(60 * hours + minutes);
    parts.offset = west ? -size : size;
  }
  text = zone;
}

bool read_date(Scanner& text, Parts& parts) {
  if (!text.digits(4, parts.year)) return false;
  const std::string_view separator = text.rest.substr(0, 1);
  if (!text.letter("-/") || !text.digits(2, parts.month) || !text.word(separator) || !text.digits(2, parts.day))
    return false;
  return text.letter("Tt ") && read_time_of_day(text, parts);
}

bool read_access_log_date(Scanner& text, Parts& parts) {
  static constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (!text.digits(2, parts.day) || !text.letter("/")) return false;
  const auto month = std::find(months.begin(), months.end(), text.rest.substr(0, 3));
  if (month == months.end()) return false;
  parts.month = static_cast<int>(month - months.begin()) + 1;
  text.rest.remove_prefix(3);
  return text.letter("/") && text.digits(4, parts.year) && text.letter(":") && read_time_of_day(text, parts);
}

std::optional<Moment> moment_of(const Parts& parts) {
  if (parts.year < first_year || parts.year > last_year) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(parts.year),
                                         std::chrono::month(static_cast<unsigned>(parts.month)),
                                         std::chrono::day(static_cast<unsigned>(parts.day))};
  constexpr int leap_second = 60;
  if (!date.ok() || parts.hour > 23 || parts.minute > 59 || parts.second > leap_second) return std::nullopt;
  const WallTime at = WallTime(std::chrono::sys_days(date)) + std::chrono::hours(parts.hour) +
                      std::chrono::minutes(parts.minute) + std::chrono::seconds(parts.second) + parts.fraction -
                      parts.offset.value_or(std::chrono::minutes(0));
  return Moment{at, parts.offset.has_value()};
}

std::optional<Moment> read_written(Scanner& text) {
  for (const auto read : {read_date, read_access_log_date}) {
    Scanner attempt = text;
    Parts parts;
    if (!read(attempt, parts)) continue;
    read_zone(attempt, parts);
    text = attempt;
    return moment_of(parts);
  }
  return std::nullopt;
}

// Of at least ten digits: a smaller number is a count of something.
std::optional<Moment> read_number(Scanner& text) {
  constexpr double fewest = 1e9;
  double number = 0;
  const auto read = std::from_chars(text.rest.data(), text.rest.data() + text.rest.size(), number);
  if (read.ec != std::errc() || number < fewest) return std::nullopt;
  text.rest.remove_prefix(static_cast<std::size_t>(read.ptr - text.rest.data()));
  return unix_moment(number);
}

bool begins_a_number(std::string_view line, std::size_t at) {
  return is_digit(line[at]) && (at == 0 || !is_digit(line[at - 1]));
}
}  // namespace

std::optional<Moment> unix_moment(double number) {
  const double seconds = number >= milliseconds_from ? number / 1000 : number;
  if (!std::isfinite(seconds) || seconds < 0 || seconds >= last_second) return std::nullopt;
  const auto milliseconds = static_cast<std::int64_t>(std::llround(seconds * 1000));
  return Moment{WallTime(std::chrono::milliseconds(milliseconds)), true};
}

std::optional<Moment> read_moment(std::string_view text) {
  Scanner scanner{text};
  std::optional<Moment> moment = read_written(scanner);
  if (!moment) {
    scanner.rest = text;
    moment = read_number(scanner);
  }
  return scanner.rest.empty() ? moment : std::nullopt;
}

std::optional<Moment> find_moment(std::string_view line) {
  line = line.substr(0, searched_letters);
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (!begins_a_number(line, at)) continue;
    Scanner scanner{line.substr(at)};
    if (const auto moment = read_written(scanner)) return moment;
  }
  Scanner beginning{line};
  beginning.letter("[");
  return beginning.rest.empty() || !is_digit(beginning.rest.front()) ? std::nullopt : read_number(beginning);
}
}  // namespace moult
