#include "master/config/print_config.h"

#include "tests/unit/config/reading.h"
namespace moult {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;

// Nothing but -c and what cannot stand in a file.
Config read_back(const std::string& printed, const Environment& environment) {
  const Scratch scratch;
  return config({"-c", scratch.file("printed.json", printed)}, environment);
}

TEST(PrintConfig, ReadsBackAsTheSameConfig) {
  const Scratch scratch;
  const auto file = scratch.file("m.json", R"({"timeout": 0.5e1, "env": {"Ä": "ö\"\\\n//", "N": 5}, "umask": "022"})");
  const std::vector<Arguments> cases{
      {"a:b"},
      {"a.b:make()", "-c", file, "-w", "4", "--no-preload", "--worker-prefix", "-k", "gthread", "--threads", "7"},
      {"--app", "native:/bin/sh", "-b", ":1", "-b", "unix:/tmp/x?mode=0600", "-b", "fd://7", "--request-timeout", "90"},
      {"-n", "x", "-u", "root", "-g", "5", "-p", "pid", "--server-option", "a=b,c", "--", "node", "--x", "a b", ""},
      {"a:b", "--admin", "127.0.0.1:1", "--health-bind", ":2", "--log-level", "debug", "--log-format", "json",
       "--events", "-", "--stop-delay", "0.25", "--post-fork", "m:f", "--reload-low-memory", "--keep-alive", "0"}};
  for (const auto& arguments : cases) {
    const RunRequest first = request(arguments);
    EXPECT_EQ(read_back(first.printed, {{"XDG_RUNTIME_DIR", "/run/user/7"}}), first.config) << first.printed;
  }
}

TEST(PrintConfig, SaysWhereEachValueCameFrom) {
  const Scratch scratch;
  const auto file = scratch.file("m.json", R"({"threads": 3})");
  const std::string printed = request({"a:b", "-c", file, "-w", "4"}, with({{"PORT", "9000"}})).printed;
  EXPECT_THAT(printed, HasSubstr("\"app\": \"a:b\",  // the app\n"));
  EXPECT_THAT(printed, HasSubstr("\"workers\": 4,  // --workers\n"));
  EXPECT_THAT(printed, HasSubstr("\"bind\": [\"0.0.0.0:9000\"],  // PORT\n"));
  EXPECT_THAT(printed, HasSubstr("\"threads\": 3,  // " + file + ": threads\n"));
  EXPECT_THAT(printed, HasSubstr("\"timeout\": \"30s\",  // default\n"));
  EXPECT_THAT(printed, HasSubstr("\"worker-prefix\": false,  // default\n"));
}

TEST(PrintConfig, NeverShowsASecret) {
  const std::string printed =
      request({"a:b", "--admin", ":1"}, with({{"MOULT_ADMIN_TOKEN", "0123456789abcdef"}})).printed;
  EXPECT_THAT(printed, Not(HasSubstr("0123456789abcdef")));
  EXPECT_THAT(printed, HasSubstr("// admin-token is set by MOULT_ADMIN_TOKEN and not shown\n"));
  const std::string fleet =
      request({"a:b", "--fleet-name", "web"}, with({{"MOULT_FLEET", "redis://bob:hunter2@store"}})).printed;
  EXPECT_THAT(fleet, Not(HasSubstr("hunter2")));
  EXPECT_THAT(fleet, HasSubstr("redis://bob@store:6379"));
}

TEST(PrintConfig, KeepsTheUserAndThePasswordsFileOfTheStore) {
  const std::vector<Arguments> cases{
      {"a:b", "--fleet-name", "web", "--fleet", "redis://bob@127.0.0.1"},
      {"a:b", "--fleet-name", "web", "--fleet", "redis://127.0.0.1?password-file=/etc/hostname"}};
  for (const auto& arguments : cases) {
    const RunRequest first = request(arguments);
    EXPECT_EQ(read_back(first.printed, plain_environment()), first.config) << first.printed;
  }
}

TEST(PrintConfig, SaysThatSystemdPassesTheListeners) {
  const std::string printed = request({"a:b"}, with({{"LISTEN_FDS", "2"}})).printed;
  EXPECT_THAT(printed, HasSubstr("// bind: the sockets that systemd passes\n"));
  EXPECT_THAT(printed, Not(HasSubstr("\"bind\"")));
}

TEST(PrintConfig, KeepsANameWithALineBreakInsideItsComment) {
  const Scratch scratch;
  const auto file = scratch.file("m\n\"workers\".json", R"({"threads": 3})");
  const RunRequest first = request({"a:b", "-c", file});
  EXPECT_EQ(read_back(first.printed, plain_environment()), first.config);
}
}  // namespace
}  // namespace moult
