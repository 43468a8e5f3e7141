#include "master/config/help.h"

#include <optional>

#include "master/config/flags.h"
namespace moult {
namespace {
constexpr std::size_t help_column = 30, last_column = 100;

constexpr std::string_view forms =
    R"(usage: moult run [flags] MODULE:ATTR           a Python app (also MODULE:factory())
       moult run [flags] --app native:./libapp.so
       moult run [flags] -- COMMAND ARGS...     any program that serves on an inherited socket
       moult status [--json] [--watch]          what runs, and how it does
       moult events [-f] [--event NAME] ...     what has happened, and what happens
       moult fleet status [--json]              what the budget of a fleet affords
       moult scale N                            serve with N workers
       moult reload [--wait]                    load the app anew and replace the workers by turns
       moult recycle [SLOT]                     replace a worker, or all, one after the other
       moult sleep | wake                       end all workers until somebody calls; begin again
       moult schedule ls [--json]               the scheduled calls, and how the last ones went
       moult schedule run NAME                  make a scheduled call now, and wait for it
       moult stop                               let requests finish, then stop
       moult doctor [--json] EVENTS...          read event files, and name what is wrong
       moult correlate EVENTS --canary FILE     do clients' errors come near recycles?
       moult version | help
)";

// Breaks at blanks; the first line begins where the cursor is, the others at `column`.
std::string wrapped(std::string_view text, std::size_t column) {
  std::string lines;
  while (text.size() > last_column - column) {
    auto blank = text.rfind(' ', last_column - column);
    if (blank == std::string_view::npos) break;
    lines += std::string(text.substr(0, blank)) + "\n" + std::string(column, ' ');
    text.remove_prefix(blank + 1);
  }
  return lines + std::string(text) + "\n";
}

std::string row(const Flag& flag) {
  std::string left = flag.letter ? "  -" + std::string(1, flag.letter) + ", " : "      ";
  left += "--" + std::string(flag.name);
  if (!flag.metavar.empty()) left += " " + std::string(flag.metavar);
  std::string right(flag.help);
  if (!flag.default_text.empty()) right += " (" + std::string(flag.default_text) + ")";
  if (left.size() + 2 > help_column) return left + "\n" + std::string(help_column, ' ') + wrapped(right, help_column);
  return left + std::string(help_column - left.size(), ' ') + wrapped(right, help_column);
}

std::string rows_by_group() {
  std::string text;
  std::optional<FlagGroup> group;  // of the row before
  for (const Flag& flag : flags()) {
    if (!may_stand_in(flag, Place::command_line)) continue;
    if (flag.group != group) text += "\n" + std::string(title_of(flag.group)) + ":\n";
    group = flag.group;
    text += row(flag);
  }
  return text;
}
}  // namespace

std::string help_text() {
  return std::string(forms) + rows_by_group() + R"(
A flag may also be given as MOULT_<FLAG> in the environment (--keep-alive is MOULT_KEEP_ALIVE), or
without its dashes as a key of the JSON file of -c. Flags win over the environment, the environment
over the file. WEB_CONCURRENCY is --workers, PORT is --bind 0.0.0.0:PORT. Times are seconds, or a
number with ms, s, m or h. In the file alone: "schedule", the calls that moult makes to the app by
the clock (man moult).
)";
}

std::string usage_text() {
  std::string text(forms);
  text += "\nThe flags that are used most:\n";
  for (const auto name : {"bind", "workers", "worker-class", "chdir", "config", "timeout"})
    text += row(*find_flag(name));
  return text + "\nmoult help lists them all, man moult explains them.\n";
}
}  // namespace moult
