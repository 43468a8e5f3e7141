// The three sources, each by itself: command line, environment, file.
#include <gmock/gmock.h>

#include "master/config/command_line.h"
#include "master/config/config_file.h"
#include "master/config/environment.h"
namespace moult {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Settings line(const std::vector<std::string>& arguments) {
  auto read = read_command_line(arguments);
  if (read) return *read;
  ADD_FAILURE() << read.error().message;
  return {};
}
std::string line_refusal(const std::vector<std::string>& arguments) {
  const auto read = read_command_line(arguments);
  return read ? "(accepted)" : read.error().message;
}
std::string environment_refusal(const Environment& environment) {
  const auto read = read_environment(environment);
  return read ? "(accepted)" : read.error().message;
}
Settings file(std::string_view text) {
  auto read = parse_config_file(text, "moult.json");
  if (read) return *read;
  ADD_FAILURE() << read.error().message;
  return {};
}
std::string file_refusal(std::string_view text) {
  const auto read = parse_config_file(text, "moult.json");
  return read ? "(accepted)" : read.error().message;
}

TEST(CommandLine, TakesLongShortAndJoinedForms) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"--workers", "4"}, {"--workers=4"}, {"-w", "4"}, {"-w4"}, {"-w", "3", "--workers=4"}})
    EXPECT_THAT(line(arguments).at("workers").values, ElementsAre("4"));
}

TEST(CommandLine, KeepsEveryValueOfAListWithItsCommas) {
  EXPECT_THAT(line({"-b", ":1", "--bind", ":2", "-b:3"}).at("bind").values, ElementsAre(":1", ":2", ":3"));
  EXPECT_THAT(line({"-e", "A=1,2 3", "--env=B=x=y"}).at("env").values, ElementsAre("A=1,2 3", "B=x=y"));
}

TEST(CommandLine, TakesTheAppBeforeOrAfterTheFlags) {
  EXPECT_THAT(line({"shop:app", "-w", "2"}).at("app").values, ElementsAre("shop:app"));
  EXPECT_THAT(line({"-w", "2", "shop:app"}).at("app").values, ElementsAre("shop:app"));
}

TEST(CommandLine, TakesAllAfterTwoDashesForTheCommand) {
  const auto settings = line({"-w", "2", "--", "node", "server.js", "--workers", "9", "--"});
  EXPECT_THAT(settings.at("command").values, ElementsAre("node", "server.js", "--workers", "9", "--"));
  EXPECT_THAT(settings.at("workers").values, ElementsAre("2"));
}

TEST(CommandLine, TakesNoPreloadForPreloadOff) {
  EXPECT_THAT(line({"--no-preload"}).at("preload").values, ElementsAre("off"));
  EXPECT_FALSE(line({"--no-preload=off"}).contains("preload"));
}

TEST(CommandLine, RefusesAnUnknownFlagAndNamesTheNearest) {
  EXPECT_EQ(line_refusal({"a:b", "--wrokers", "3"}), "unknown flag '--wrokers': did you mean --workers?");
  EXPECT_EQ(line_refusal({"a:b", "--wrokers=3"}), "unknown flag '--wrokers': did you mean --workers?");
  EXPECT_EQ(line_refusal({"--graceful_timeout", "3"}),
            "unknown flag '--graceful_timeout': did you mean "
            "--graceful-timeout?");
  EXPECT_EQ(line_refusal({"--daemonise"}), "unknown flag '--daemonise': see moult help for all of them");
  EXPECT_EQ(line_refusal({"-z"}), "unknown flag '-z': see moult help for all of them");
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"a:b", "--reload"}, {"--reload", "a:b"}})
    EXPECT_EQ(line_refusal(arguments),
              "unknown flag '--reload': moult does not watch files; 'moult reload' or SIGHUP loads the code anew");
  EXPECT_EQ(line_refusal({"--command", "x"}), "unknown flag '--command': see moult help for all of them");
}

TEST(CommandLine, RefusesAFlagWithoutItsValue) {
  EXPECT_EQ(line_refusal({"a:b", "--workers"}), "the flag --workers needs a value after it");
  EXPECT_EQ(line_refusal({"-w"}), "the flag -w needs a value after it");
}

TEST(CommandLine, RefusesTwoThingsToRun) {
  EXPECT_EQ(line_refusal({"uvicorn", "a:b"}),
            "only one app can be run: both 'uvicorn' and 'a:b' are given (to run a command, write -- before it)");
  EXPECT_EQ(line_refusal({"a:b", "--app", "c:d"}), "only one app can be run: both 'a:b' and --app are given");
  EXPECT_EQ(line_refusal({"a:b", "--", "ls"}),
            "only one thing can be run: both the app 'a:b' and a command after -- are given");
  EXPECT_EQ(line_refusal({"--"}), "-- needs a command after it");
}

TEST(CommandLine, TakesAWordOfAnyLengthAsAValueButNotBehindDashes) {
  const std::string longest(4090, 'x');
  EXPECT_THAT(line({"--env=A=" + longest.substr(8)}).at("env").values.at(0), HasSubstr("A=xxx"));
  EXPECT_EQ(line_refusal({"--env=A=" + std::string(200'000, 'x')}),
            "--env: write its value as an argument of its own: --env VALUE");
  EXPECT_EQ(line({"--env", "A=" + std::string(200'000, 'x')}).at("env").values.at(0).size(), 200'002u);
  EXPECT_EQ(line_refusal({"--env=A=two\nlines"}), "--env: write its value as an argument of its own: --env VALUE");
}

TEST(CommandLine, BoundsHowOftenAFlagIsGiven) {
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < most_values; ++i) arguments.insert(arguments.end(), {"-b", ":0"});
  EXPECT_EQ(line(arguments).at("bind").values.size(), most_values);
  arguments.insert(arguments.end(), {"-b", ":0"});
  EXPECT_EQ(line_refusal(arguments), "--bind is given more than 1024 times");
}

TEST(EnvironmentVariables, AreTheFlagsInCapitals) {
  const auto read = read_environment({{"MOULT_GRACEFUL_TIMEOUT", "5s"}, {"MOULT_BIND", ":1,unix:/x"}, {"HOME", "/"}});
  ASSERT_TRUE(read);
  EXPECT_THAT(read->settings.at("graceful-timeout").values, ElementsAre("5s"));
  EXPECT_EQ(read->settings.at("graceful-timeout").origin, "MOULT_GRACEFUL_TIMEOUT");
  EXPECT_THAT(read->settings.at("bind").values, ElementsAre(":1", "unix:/x"));
  EXPECT_EQ(read->settings.size(), 2u);
}

TEST(EnvironmentVariables, CountAsNotSetWhenTheyAreEmpty) {
  EXPECT_TRUE(read_environment({{"MOULT_WORKERS", ""}, {"PORT", ""}, {"WEB_CONCURRENCY", ""}})->settings.empty());
}

TEST(EnvironmentVariables, OfPlatformsGiveWayToOurOwn) {
  const auto platform = read_environment({{"PORT", "5000"}, {"WEB_CONCURRENCY", "3"}});
  EXPECT_THAT(platform->settings.at("bind").values, ElementsAre("0.0.0.0:5000"));
  EXPECT_THAT(platform->settings.at("workers").values, ElementsAre("3"));
  const auto both =
      read_environment({{"PORT", "5000"}, {"WEB_CONCURRENCY", "3"}, {"MOULT_BIND", ":1"}, {"MOULT_WORKERS", "4"}});
  EXPECT_THAT(both->settings.at("bind").values, ElementsAre(":1"));
  EXPECT_EQ(both->settings.at("workers").origin, "MOULT_WORKERS");
  EXPECT_EQ(environment_refusal({{"PORT", "http"}}), "PORT: 'http' is not a whole number from 1 to 65535");
  EXPECT_EQ(environment_refusal({{"PORT", "65536"}}), "PORT: '65536' is out of range: 1 to 65535");
}

TEST(EnvironmentVariables, ThatAreMisspeltOrMisplacedAreRefused) {
  EXPECT_EQ(environment_refusal({{"MOULT_WORKRES", "3"}}),
            "unknown variable MOULT_WORKRES: did you mean MOULT_WORKERS?");
  EXPECT_EQ(environment_refusal({{"MOULT_CHECK_CONFIG", "1"}}),
            "MOULT_CHECK_CONFIG: --check-config is known on the command line only");
  EXPECT_EQ(environment_refusal({{"MOULT_COMMAND", "ls"}}),
            "MOULT_COMMAND: a command is not read from the environment");
}

TEST(EnvironmentVariables, OfSomebodyElseAreIgnoredWithAWarning) {
  const auto read = read_environment({{"MOULT_PORT_8000_TCP", "tcp://10.0.0.1:8000"}});
  ASSERT_TRUE(read) << "Kubernetes sets it for a service that is named moult";
  EXPECT_THAT(read->warnings, ElementsAre("MOULT_PORT_8000_TCP is no setting of moult: ignored"));
}

TEST(ConfigFile, TakesEachTypeInItsJsonForm) {
  const auto settings = file(R"({
    // a comment
    "bind": [":1", ":2"], "workers": 4, "timeout": 0.5, "graceful-timeout": "1m", /* and another */
    "reload-low-memory": true, "env": {"A": "b", "N": 5, "T": true}, "server-option": ["x=y"], "app": "a:b"})");
  EXPECT_THAT(settings.at("bind").values, ElementsAre(":1", ":2"));
  EXPECT_THAT(settings.at("workers").values, ElementsAre("4"));
  EXPECT_THAT(settings.at("timeout").values, ElementsAre("0.5"));
  EXPECT_THAT(settings.at("reload-low-memory").values, ElementsAre("on"));
  EXPECT_THAT(settings.at("env").values, ElementsAre("A=b", "N=5", "T=true"));
  EXPECT_THAT(settings.at("server-option").values, ElementsAre("x=y"));
  EXPECT_EQ(settings.at("app").origin, "moult.json: app");
  EXPECT_THAT(file(R"({"bind": ":1"})").at("bind").values, ElementsAre(":1"));
}

TEST(ConfigFile, RefusesAnUnknownKeyAndNamesTheNearest) {
  EXPECT_EQ(file_refusal(R"({"wrokers": 4})"), "moult.json: 'wrokers': no such key: did you mean workers?");
  EXPECT_EQ(file_refusal(R"({"graceful_timeout": 4})"),
            "moult.json: 'graceful_timeout': no such key: did you mean graceful-timeout?");
  EXPECT_EQ(file_refusal(R"({"colour": 4})"),
            "moult.json: 'colour': no such key: its keys are the flags of moult help without dashes");
}

TEST(ConfigFile, RefusesAValueOfAnotherType) {
  EXPECT_EQ(file_refusal(R"({"workers": 4.5})"), "moult.json: workers: must be a whole number");
  EXPECT_EQ(file_refusal(R"({"workers": [4]})"), "moult.json: workers: must be a whole number");
  EXPECT_EQ(file_refusal(R"({"timeout": true})"),
            "moult.json: timeout: must be a number of seconds, or a string like \"30s\"");
  EXPECT_EQ(file_refusal(R"({"worker-prefix": 1})"), "moult.json: worker-prefix: must be true or false");
  EXPECT_EQ(file_refusal(R"({"umask": 22})"), "moult.json: umask: must be a string");
  EXPECT_EQ(file_refusal(R"({"bind": [1]})"), "moult.json: bind: must be a string or an array of strings");
  EXPECT_EQ(file_refusal(R"({"env": "A=1"})"), "moult.json: env: must be an object, or an array of \"NAME=VALUE\"");
  EXPECT_EQ(file_refusal(R"({"env": {"A": []}})"), "moult.json: env: 'A' must be a string, a number, true or false");
  EXPECT_EQ(file_refusal(R"({"env": {"A=B": "c"}})"), "moult.json: env: has the wrong name 'A=B'");
  EXPECT_EQ(file_refusal(R"({"name": null})"), "moult.json: name: is null: leave the key out");
  EXPECT_EQ(file_refusal(R"({"name": "a\u0000b"})"), "moult.json: name: has a zero byte");
}

TEST(ConfigFile, RefusesAKeyThatStandsThereTwice) {
  EXPECT_EQ(file_refusal(R"({"workers": 4, "workers": 5})"), "moult.json: 'workers' stands there twice");
  EXPECT_EQ(file_refusal(R"({"env": {"name": "1"}, "name": "x"})"), "(accepted)") << "they are different keys";
  EXPECT_EQ(file_refusal(R"({"env": {"A": "1", "B": 2, "A": "3"}})"), "moult.json: 'env': 'A' stands there twice");
  EXPECT_EQ(file_refusal(R"({"env": {"A": "1"}, "server-option": {"A": "2"}})"), "(accepted)");
  EXPECT_EQ(file_refusal(R"({"schedule": [{"name": "a", "every": 5}, {"name": "b", "every": 5, "every": 6}]})"),
            "moult.json: 'schedule': entry 2: 'every' stands there twice");
}

TEST(ConfigFile, RefusesAListWithNothingInItAndSaysWhatToWrite) {
  EXPECT_EQ(file_refusal(R"({"bind": []})"),
            "moult.json: bind: is an empty array: write what it is to have, as [\"127.0.0.1:8000\"], or leave the key "
            "out");
  EXPECT_EQ(file_refusal(R"({"command": []})"),
            "moult.json: command: is an empty array: write what it is to have, as [\"node\", \"server.js\"], or leave "
            "the key out");
  EXPECT_EQ(file_refusal(R"({"env": {}, "server-option": []})"), "(accepted)") << "no variables is what it says";
}

TEST(ConfigFile, TakesAProgramAloneForACommandButNotItsWordsInOneText) {
  EXPECT_THAT(file(R"({"command": "nginx"})").at("command").values, ElementsAre("nginx"));
  EXPECT_THAT(file(R"({"command": ["/opt/my app/run"]})").at("command").values, ElementsAre("/opt/my app/run"));
  EXPECT_EQ(file_refusal(R"({"command": "node  --x server.js"})"),
            "moult.json: command: is one text with blanks: write its words one by one: "
            "[\"node\",\"--x\",\"server.js\"]");
  EXPECT_THAT(file_refusal("{\"command\": \"" + std::string(50, 'x') + " " + std::string(50, 'y') + "\"}"),
              HasSubstr("one by one: [\"PROGRAM\", \"ARGUMENT\"]"));
}

TEST(ConfigFile, RefusesWhatBelongsElsewhere) {
  EXPECT_EQ(file_refusal(R"({"config": "x"})"), "moult.json: config: stands on the command line, not in a file");
  EXPECT_EQ(file_refusal(R"({"no-preload": true})"), "moult.json: no-preload: write \"preload\": \"off\"");
}

TEST(ConfigFile, SaysWhereItIsNoJson) {
  EXPECT_THAT(file_refusal("{\n \"workers\": }"), HasSubstr("moult.json: is not JSON: line 2, column "));
  EXPECT_THAT(file_refusal(""), HasSubstr("moult.json: is not JSON: "));
  EXPECT_THAT(file_refusal("{\"workers\": 1e999}"), HasSubstr("moult.json: is not JSON: "));
  EXPECT_EQ(file_refusal("[]"), "moult.json: a config file is one JSON object: { \"workers\": 4 }");
}
}  // namespace
}  // namespace moult
