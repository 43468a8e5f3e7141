// The table of flags, and what is derived from it: help, and the man page beside it.
#include "master/config/flags.h"

#include <fstream>
#include <set>
#include <sstream>

#include "master/config/help.h"
#include "tests/unit/config/reading.h"
namespace moult {
namespace {
using ::testing::HasSubstr;

// As the design lists them.
const std::vector<std::string> usable{"bind",
                                      "sidecar-bind",
                                      "workers",
                                      "worker-class",
                                      "timeout",
                                      "name",
                                      "pid",
                                      "user",
                                      "group",
                                      "config",
                                      "env",
                                      "env-file",
                                      "graceful-timeout",
                                      "linger-timeout",
                                      "keep-alive",
                                      "chdir",
                                      "umask",
                                      "backlog",
                                      "parking-max",
                                      "idle-ignore",
                                      "threads",
                                      "log-level",
                                      "access-logfile",
                                      "check-config",
                                      "print-config",
                                      "app",
                                      "python",
                                      "preload",
                                      "no-preload",
                                      "post-fork",
                                      "server-option",
                                      "forwarded-allow-ips",
                                      "root-path",
                                      "certfile",
                                      "keyfile",
                                      "worker-prefix",
                                      "reload-low-memory",
                                      "spares",
                                      "ready-delay",
                                      "boot-timeout",
                                      "boot-attempts",
                                      "request-timeout",
                                      "kill-after",
                                      "stop-delay",
                                      "control",
                                      "admin",
                                      "admin-token",
                                      "health-bind",
                                      "events",
                                      "log-format",
                                      "max-requests",
                                      "max-requests-jitter",
                                      "memory-limit",
                                      "limit-jitter",
                                      "limit-spread",
                                      "hard-limit",
                                      "min-runway",
                                      "runway",
                                      "sample-near",
                                      "sample-far",
                                      "max-lifetime",
                                      "max-lifetime-jitter",
                                      "cooldown",
                                      "urgent-cooldown",
                                      "min-headroom",
                                      "busy-rps",
                                      "defer-max",
                                      "replace",
                                      "alarm-requests-p10",
                                      "alarm-window",
                                      "on-alarm",
                                      "fleet",
                                      "fleet-name",
                                      "fleet-ca",
                                      "urgent-wait",
                                      "lease-permits",
                                      "lease-ttl",
                                      "recycle-rate",
                                      "recycle-burst",
                                      "min-healthy",
                                      "idle",
                                      "warmth",
                                      "warm-for",
                                      "wake-timeout",
                                      "state-dir",
                                      "on-sleep",
                                      "on-wake"};

TEST(Flags, KnowsEveryFlagOfTheDesign) {
  for (const auto& name : usable) {
    const Flag* flag = find_flag(name);
    ASSERT_TRUE(flag) << name;
    EXPECT_TRUE(may_stand_in(*flag, Place::command_line)) << name;
  }
  EXPECT_EQ(names_for(Place::command_line).size(), usable.size() + 1) << "these, and --help";
}

TEST(Flags, HaveGunicornsLetters) {
  const std::map<char, std::string_view> letters{
      {'b', "bind"}, {'w', "workers"}, {'k', "worker-class"}, {'t', "timeout"}, {'n', "name"}, {'p', "pid"},
      {'u', "user"}, {'g', "group"},   {'c', "config"},       {'e', "env"},     {'h', "help"}};
  std::map<char, std::string_view> found;
  for (const Flag& flag : flags())
    if (flag.letter) found[flag.letter] = flag.name;
  EXPECT_EQ(found, letters);
}

TEST(Flags, HaveOneRowEach) {
  std::set<std::string_view> names;
  for (const Flag& flag : flags()) EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
}

TEST(Flags, HaveDefaultsThatTheyAccept) {
  for (const Flag& flag : flags()) {
    if (flag.default_text.empty()) continue;
    Config filled;
    const auto read = flag.type.read(filled, flag.default_text);
    EXPECT_TRUE(read) << flag.name << ": " << read.error().message;
  }
}

TEST(Flags, AreNamedInTheEnvironmentInCapitals) {
  EXPECT_EQ(variable_of(*find_flag("graceful-timeout")), "MOULT_GRACEFUL_TIMEOUT");
}

TEST(Help, ListsEveryFlagWithItsDefault) {
  const std::string help = help_text();
  for (const auto& name : usable) EXPECT_THAT(help, HasSubstr("--" + name));
  EXPECT_THAT(help, HasSubstr("-w, --workers N             how many workers serve (1)\n"));
  EXPECT_THAT(help, HasSubstr("(127.0.0.1:8000)"));
}

TEST(Help, FitsOnATerminal) {
  for (const std::string& text : {help_text(), usage_text()}) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST(ManPage, ExplainsEveryFlagWithItsDefault) {
  const auto root = std::filesystem::path(__FILE__).parent_path() / "../../..";
  std::ifstream file(root / "docs/moult.1");
  ASSERT_TRUE(file) << root;
  std::string page((std::istreambuf_iterator<char>(file)), {});
  for (std::size_t at; (at = page.find("\\-")) != std::string::npos;) page.erase(at, 1);
  for (const auto& name : usable) {
    const std::string bold = "\\fB--" + name + "\\fR";
    auto at = page.find(bold, page.find("\n.SH FLAGS"));
    const auto heads_an_entry = [&] { return page.compare(page.rfind('\n', at) - 3, 3, ".TP") == 0; };
    while (at != std::string::npos && !heads_an_entry()) at = page.find(bold, at + 1);
    ASSERT_NE(at, std::string::npos) << name;
    const std::string entry = page.substr(at, page.find("\n.TP", at) - at);
    const auto fallback = std::string(find_flag(name)->default_text);
    if (!fallback.empty()) { EXPECT_THAT(entry, HasSubstr("Default: " + fallback)) << name; }
  }
}
}  // namespace
}  // namespace moult
