#include "master/sleep/app_due.h"

#include <charconv>
#include <utility>
namespace moult {
namespace {
constexpr std::size_t longest_shown = 40;  // of a text that is no number

std::string shown(std::string_view text) {
  const bool cut = text.size() > longest_shown;
  return "'" + std::string(text.substr(0, longest_shown)) + (cut ? "...'" : "'");
}
}  // namespace

Result<WallTime> parse_next_due(std::string_view text, WallTime now) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error == std::errc::invalid_argument || end != text.data() + text.size() || number < 0)
    return Error{shown(text) + " is no unix time in whole seconds"};
  const auto last = std::chrono::floor<std::chrono::seconds>(now + longest_future_due).time_since_epoch().count();
  if (error == std::errc::result_out_of_range || number > last)
    return Error{shown(text) + " is more than ten years from now: it is unix time in seconds"};
  const WallTime due{std::chrono::seconds(number)};
  if (due < now - longest_past_due) return Error{shown(text) + " is more than a minute ago"};
  return due;
}

void AppDueTimes::worker_next_due(const Worker& worker, pid_t pid, const std::string& text) {
  Said& said = said_[worker.id];
  const auto due = parse_next_due(text, parts_.now());
  if (due) {
    said.due = *due;
    return;
  }
  if (!std::exchange(said.warned, true))
    parts_.warn("worker " + std::to_string(pid) + ": NEXT_DUE=" + due.error().message + ". It wakes nobody");
}

void AppDueTimes::worker_gone(const Worker& worker, const Exit&) {
  const auto said = said_.extract(worker.id);
  if (!said.empty() && said.mapped().due) parts_.due(*said.mapped().due);
}
}  // namespace moult
