#include "tools/event_history/read_history.h"

#include "tools/event_history/line_reader.h"
namespace moult {
namespace {
Error nothing_there(const std::vector<std::string>& paths, const Malformed& malformed) {
  const std::string file = paths.size() == 1 ? (paths.front() == "-" ? "stdin" : paths.front()) : "these files";
  return {"no event in " + file + ": none of " + std::to_string(malformed.lines) + " lines is one (" +
          malformed.examples.front() + "). Give a file that 'moult run --events FILE' wrote"};
}
}  // namespace

Result<History> read_history(const std::vector<std::string>& paths) {
  HistoryReader reader;
  for (const std::string& path : paths) {
    const std::string called = path == "-" ? "stdin" : path;
    const auto read = for_each_line(path, [&](const InputLine& line) { return reader.add(called, line); });
    if (!read) return read.error();
  }
  History history = reader.finish();
  if (history.events == 0 && history.malformed.lines > 0) return nothing_there(paths, history.malformed);
  return history;
}
}  // namespace moult
