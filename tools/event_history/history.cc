#include "tools/event_history/history.h"

#include <algorithm>
namespace moult {
void HistoryReader::add_malformed(const std::string& file, std::size_t line, const std::string& why) {
  Malformed& malformed = history_.malformed;
  ++malformed.lines;
  if (malformed.examples.size() < most_kept_examples)
    malformed.examples.push_back(file + ":" + std::to_string(line) + ": " + why);
}

void HistoryReader::note(const EventLine& line) {
  if (history_.events++ == 0) history_.first = history_.last = line.at;
  history_.first = std::min(history_.first, line.at);
  history_.last = std::max(history_.last, line.at);
  if (hours_.size() < most_kept_hours) hours_.insert(std::chrono::floor<std::chrono::hours>(line.at));
  if (line.event == "pressure_futile") ++history_.futile_pressure_events;
  if (line.reason == name(HoldReason::nothing_to_free)) ++history_.nothing_to_free_holds;
  if (history_.instances.size() < most_kept_workers) {
    history_.instances.insert(line.instance);
    const auto [latest, is_new] = latest_.try_emplace(line.instance, line.at);
    if (!is_new && line.at < latest->second) ++history_.backward_steps;
    latest->second = line.at;
  }
  if (line.slot && history_.worker_slots.size() < most_kept_workers)
    history_.worker_slots.emplace(line.instance, *line.slot);
}

Result<void> HistoryReader::add(const std::string& file, const InputLine& input) {
  ++history_.lines;
  if (file != file_) {
    file_ = file;
    latest_.clear();
  }
  if (input.too_long) {
    add_malformed(file, input.number, "longer than " + std::to_string(longest_line) + " bytes");
    return {};
  }
  auto line = read_event_line(input.text);
  if (!line) {
    add_malformed(file, input.number, line.error().message);
    return {};
  }
  note(*line);
  if (history_.recycles.size() == most_kept_events)
    return Error{file + ":" + std::to_string(input.number) + ": more than " + std::to_string(most_kept_events) +
                 " events to look at: give a part of the file"};
  if (line->recycle) history_.recycles.push_back(std::move(*line->recycle));
  return {};
}

std::optional<Silence> HistoryReader::longest_silence() const {
  if (hours_.empty() || hours_.size() == most_kept_hours) return std::nullopt;
  Silence longest;
  for (auto hour = hours_.begin(), next = std::next(hour); next != hours_.end(); hour = next++)
    if (*next - (*hour + std::chrono::hours(1)) > longest.length()) longest = {*hour + std::chrono::hours(1), *next};
  return longest;
}

History HistoryReader::finish() {
  history_.longest_silence = longest_silence();
  std::ranges::stable_sort(history_.recycles, {}, &RecycleLine::at);
  return std::move(history_);
}
}  // namespace moult
