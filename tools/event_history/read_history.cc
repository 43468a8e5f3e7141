#include "tools/event_history/read_history.h"

#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <utility>

#include "tools/event_history/line_reader.h"
namespace moult {
namespace {
std::string called(const std::string& path) { return path == "-" ? "stdin" : path; }

// What was in it would count twice. What there is not is left to whoever opens it.
Result<void> check_each_is_given_once(const std::vector<std::string>& paths) {
  std::map<std::pair<dev_t, ino_t>, std::string> seen;
  for (const std::string& path : paths) {
    struct stat file;
    if ((path == "-" ? ::fstat(STDIN_FILENO, &file) : ::stat(path.c_str(), &file)) != 0) continue;
    const auto [first, is_new] = seen.try_emplace({file.st_dev, file.st_ino}, path);
    if (is_new) continue;
    if (first->second == path) return Error{called(path) + " is given twice: give each file once"};
    return Error{called(first->second) + " and " + called(path) + " are the same file: give each file once"};
  }
  return {};
}

Error nothing_there(const std::vector<std::string>& paths, const Malformed& malformed) {
  const std::string file = paths.size() == 1 ? called(paths.front()) : "these files";
  return {"no event in " + file + ": none of " + std::to_string(malformed.lines) + " lines is one (" +
          malformed.examples.front() + "). Give a file that 'moult run --events FILE' wrote"};
}
}  // namespace

Result<History> read_history(const std::vector<std::string>& paths) {
  if (const auto once = check_each_is_given_once(paths); !once) return once.error();
  HistoryReader reader;
  for (const std::string& path : paths) {
    const std::string file = called(path);
    const auto read = for_each_line(path, [&](const InputLine& line) { return reader.add(file, line); });
    if (!read) return read.error();
  }
  History history = reader.finish();
  if (history.events == 0 && history.malformed.lines > 0) return nothing_there(paths, history.malformed);
  return history;
}
}  // namespace moult
