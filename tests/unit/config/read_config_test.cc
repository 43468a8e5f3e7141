// From all sources to one Config: precedence, ranges, what does not go together.
#include "master/config/read_config.h"

#include <unistd.h>

#include "tests/unit/config/reading.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

TEST(ReadConfig, HasTheDefaultsOfTheDesign) {
  const Config read = config({"shop:app"});
  EXPECT_EQ(read.app.kind, AppKind::python);
  EXPECT_EQ(read.app.target, "shop:app");
  EXPECT_EQ(read.app.preload, Preload::on);
  EXPECT_EQ(read.app.working_directory, std::filesystem::current_path());
  EXPECT_THAT(read.listen.bind, ElementsAre(BindAddress(TcpAddress{"127.0.0.1", 8000})));
  EXPECT_EQ(read.listen.backlog, 2048u);
  EXPECT_EQ(read.workers.count, 1u);
  EXPECT_EQ(read.workers.boot_timeout, 60s);
  EXPECT_EQ(read.workers.boot_attempts, 5u);
  EXPECT_EQ(read.workers.ready_delay, 1s);
  EXPECT_FALSE(read.workers.reload_low_memory);
  EXPECT_EQ(read.hang.timeout, 30s);
  EXPECT_EQ(read.hang.request_timeout, std::nullopt);
  EXPECT_EQ(read.hang.kill_after, 10s);
  EXPECT_EQ(read.stop.graceful_timeout, 30s);
  EXPECT_EQ(read.stop.delay, 0s);
  EXPECT_EQ(read.server.worker_class, "auto");
  EXPECT_EQ(read.server.keep_alive, 75s);
  EXPECT_EQ(read.process.name, "moult");
  EXPECT_EQ(read.log.level, LogLevel::info);
  EXPECT_EQ(read.log.format, LogFormat::text);
  EXPECT_FALSE(read.log.worker_prefix);
  EXPECT_EQ(read.control.path, "/run/user/7/moult/moult.sock");
  EXPECT_EQ(read.control.admin, std::nullopt);
}

TEST(ReadConfig, PrefersFlagToEnvironmentToFileToDefault) {
  const Scratch scratch;
  const auto file = scratch.file("m.json", R"({"workers": 2, "app": "file:app", "threads": 8})");
  const Environment environment = with({{"MOULT_WORKERS", "3"}});
  EXPECT_EQ(config({"a:b"}).workers.count, 1u);
  EXPECT_EQ(config({"-c", file}).workers.count, 2u);
  EXPECT_EQ(config({"-c", file}, environment).workers.count, 3u);
  EXPECT_EQ(config({"-c", file, "-w", "4"}, environment).workers.count, 4u);
  EXPECT_EQ(config({"-c", file, "-w", "4"}, environment).server.threads, 8u) << "each flag by itself";
  EXPECT_EQ(config({}, with({{"MOULT_CONFIG", file}})).app.target, "file:app");
}

TEST(ReadConfig, PutsPlatformVariablesAboveTheFileAndBelowFlags) {
  const Scratch scratch;
  const auto file = scratch.file("m.json", R"({"workers": 2, "bind": ":1", "app": "a:b"})");
  const Environment environment = with({{"WEB_CONCURRENCY", "5"}, {"PORT", "9000"}});
  const Config read = config({"-c", file}, environment);
  EXPECT_EQ(read.workers.count, 5u);
  EXPECT_THAT(read.listen.bind, ElementsAre(BindAddress(TcpAddress{"0.0.0.0", 9000})));
  EXPECT_THAT(config({"-c", file, "-b", ":7"}, environment).listen.bind,
              ElementsAre(BindAddress(TcpAddress{"0.0.0.0", 7})));
}

TEST(ReadConfig, LetsTheStrongestSourceSayWhatToRun) {
  const Scratch scratch;
  const auto file = scratch.file("m.json", R"({"command": ["node", "a.js"]})");
  EXPECT_THAT(config({"-c", file}).app.command, ElementsAre("node", "a.js"));
  const Config read = config({"-c", file, "shop:app"});
  EXPECT_EQ(read.app.kind, AppKind::python);
  EXPECT_THAT(read.app.command, IsEmpty());
  EXPECT_EQ(config({"--", "ls"}, with({{"MOULT_APP", "a:b"}})).app.kind, AppKind::command);
  EXPECT_EQ(refusal({}), "nothing to run: give MODULE:ATTR, --app native:./libapp.so, or -- COMMAND ARGS...");
  const auto both = scratch.file("both.json", R"({"command": ["x"], "app": "a:b"})");
  EXPECT_EQ(refusal({"-c", both}),
            "only one thing can be run: both " + both + ": app and " + both + ": command are given");
}

TEST(ReadConfig, LeavesTheListenersToSystemdWhenNoneWereAskedFor) {
  const std::string own_pid = std::to_string(getpid());
  EXPECT_THAT(config({"a:b"}, with({{"LISTEN_FDS", "1"}, {"LISTEN_PID", own_pid}})).listen.bind, IsEmpty());
  EXPECT_EQ(config({"a:b"}, with({{"LISTEN_FDS", "1"}, {"LISTEN_PID", "1"}})).listen.bind.size(), 1u)
      << "they were passed to another process";
  EXPECT_EQ(config({"a:b"}, with({{"LISTEN_FDS", "0"}})).listen.bind.size(), 1u);
  EXPECT_EQ(config({"a:b", "-b", ":1"}, with({{"LISTEN_FDS", "1"}})).listen.bind.size(), 1u);
}

TEST(ReadConfig, SaysWhereABadValueCameFrom) {
  const Scratch scratch;
  const auto file = scratch.file("m.json", R"({"workers": 0})");
  EXPECT_EQ(refusal({"a:b", "-w", "0"}), "--workers: '0' is out of range: 1 to 1000");
  EXPECT_EQ(refusal({"a:b"}, with({{"MOULT_WORKERS", "0"}})), "MOULT_WORKERS: '0' is out of range: 1 to 1000");
  EXPECT_EQ(refusal({"a:b"}, with({{"WEB_CONCURRENCY", "auto"}})),
            "WEB_CONCURRENCY: 'auto' is not a whole number from 1 to 1000");
  EXPECT_EQ(refusal({"a:b", "-c", file}), file + ": workers: '0' is out of range: 1 to 1000");
  EXPECT_EQ(refusal({"a:b", "-c", "/nowhere"}), "--config: cannot read /nowhere: No such file or directory");
  EXPECT_EQ(refusal({"a:b", "-c", "/tmp"}), "--config: cannot read /tmp: Is a directory");
}

TEST(ReadConfig, BoundsEveryNumber) {
  for (const auto flag :
       {"--workers", "--threads", "--backlog", "--boot-attempts", "--timeout", "--request-timeout", "--kill-after",
        "--graceful-timeout", "--stop-delay", "--ready-delay", "--boot-timeout", "--keep-alive"}) {
    EXPECT_THAT(refusal({"a:b", flag, "-1"}), HasSubstr(std::string(flag) + ": '-1' is out of range: ")) << flag;
    EXPECT_THAT(refusal({"a:b", flag, "99999999999999999999999"}), HasSubstr("is out of range: ")) << flag;
  }
  EXPECT_EQ(config({"a:b", "-w", "1000"}).workers.count, 1000u);
  EXPECT_EQ(refusal({"a:b", "-w", "1001"}), "--workers: '1001' is out of range: 1 to 1000");
}

TEST(ReadConfig, TakesZeroAndOffForNoTimeout) {
  EXPECT_EQ(config({"a:b", "-t", "0"}).hang.timeout, std::nullopt);
  EXPECT_EQ(config({"a:b", "-t", "off"}).hang.timeout, std::nullopt);
  EXPECT_EQ(config({"a:b", "-t", "1s"}).hang.timeout, 1s);
  EXPECT_EQ(refusal({"a:b", "-t", "999ms"}), "--timeout: '999ms' is out of range: 1s to 24h, or off");
}

TEST(ReadConfig, NamesTheRightWordForAWrongOne) {
  EXPECT_EQ(refusal({"a:b", "--preload", "strickt"}),
            "--preload: 'strickt' is not one of on, strict, off: did you mean strict?");
  EXPECT_EQ(refusal({"a:b", "--log-level", "warn"}),
            "--log-level: 'warn' is not one of debug, info, warning, error, critical: did you mean warning?");
  EXPECT_EQ(refusal({"a:b", "--log-format", "xml"}), "--log-format: 'xml' is not one of text, json");
}

TEST(ReadConfig, RefusesAddressesThatCollide) {
  EXPECT_EQ(refusal({"a:b", "-b", ":80", "-b", "0.0.0.0:80"}), "--bind: 0.0.0.0:80 is given twice");
  EXPECT_EQ(refusal({"a:b", "-b", "[::1]:80", "-b", "[0:0::1]:80"}), "--bind: [::1]:80 is given twice");
  EXPECT_EQ(refusal({"a:b", "-b", "unix:/a/x", "-b", "unix:/a/./x"}), "--bind: unix:/a/x is given twice");
  EXPECT_EQ(refusal({"a:b", "-b", "127.0.0.1:80", "--admin", "localhost:80"}),
            "--admin: 127.0.0.1:80 is taken by --bind already");
  EXPECT_EQ(refusal({"a:b", "--admin", "127.0.0.1:90", "--health-bind", "127.0.0.1:90"}),
            "--health-bind: 127.0.0.1:90 is taken by --admin already");
  EXPECT_EQ(config({"a:b", "-b", ":0", "-b", ":0"}).listen.bind.size(), 2u) << "the kernel chooses two ports";
}

TEST(ReadConfig, KeepsTheAdminServerOnThisMachineUnlessThereIsAToken) {
  EXPECT_EQ(refusal({"a:b", "--admin", "0.0.0.0:9000"}),
            "--admin: 0.0.0.0:9000 can be reached from other machines: set MOULT_ADMIN_TOKEN, or use 127.0.0.1 (for "
            "health checks alone there is --health-bind)");
  for (const auto address : {"127.0.0.1:9000", "127.1.2.3:9000", "localhost:9000"})
    EXPECT_EQ(refusal({"a:b", "--admin", address}), "(accepted)") << address;
  const Environment token = with({{"MOULT_ADMIN_TOKEN", "0123456789abcdef"}});
  EXPECT_EQ(config({"a:b", "--admin", ":9000"}, token).control.token, "0123456789abcdef");
  EXPECT_EQ(refusal({"a:b", "--admin-token", "0123456789abcde"}),
            "--admin-token: is too short: use at least 16 letters");
  const std::string ipv4_only = " is IPv6, and admin servers listen on IPv4 only: write ";
  EXPECT_EQ(refusal({"a:b", "--admin", "[::1]:9000"}), "--admin: '[::1]:9000'" + ipv4_only + "127.0.0.1:9000");
  EXPECT_EQ(refusal({"a:b", "--admin", "[::1]"}), "--admin: '[::1]'" + ipv4_only + "127.0.0.1:9000");
  EXPECT_EQ(refusal({"a:b", "--admin", "::1"}), "--admin: '::1'" + ipv4_only + "127.0.0.1:9000");
  EXPECT_EQ(refusal({"a:b", "--health-bind", "[::]:9001"}), "--health-bind: '[::]:9001'" + ipv4_only + "0.0.0.0:9001");
  EXPECT_EQ(refusal({"a:b", "--admin", "unix:/x"}), "--admin: 'unix:/x' is not HOST:PORT");
  EXPECT_EQ(config({"a:b", "--health-bind", ":9001"}).control.health, (TcpAddress{"0.0.0.0", 9001}));
}

TEST(ReadConfig, PutsEnvOverEnvFile) {
  const Scratch scratch;
  const auto file = scratch.file(".env", "A=1\nB=2\n");
  EXPECT_THAT(config({"a:b", "--env-file", file, "-e", "B=3", "-e", "C=4"}).app.environment,
              ElementsAre(Pair("A", "1"), Pair("B", "3"), Pair("C", "4")));
  EXPECT_EQ(refusal({"a:b", "-e", "B"}), "--env: 'B' is not KEY=VALUE");
  const auto wrong = scratch.file("wrong", "A=1\nB 2\n");
  EXPECT_EQ(refusal({"a:b", "--env-file", wrong}), "--env-file: " + wrong + ": line 2: is not NAME=value");
  EXPECT_EQ(refusal({"a:b", "--env-file", "/nowhere"}), "--env-file: cannot read /nowhere: No such file or directory");
}

TEST(ReadConfig, TakesRelativePathsFromChdir) {
  const Scratch scratch;
  scratch.file("cert.pem", "");
  std::filesystem::create_directory(scratch.path("run"));
  const Config read =
      config({"a:b", "--chdir", scratch.path(), "-p", "run/pid", "--certfile", "cert.pem", "-b",
              "unix:app.sock?mode=0660", "--access-logfile", "-", "--events", "e.jsonl", "--control", "c.sock"});
  const std::string folder = std::filesystem::path(scratch.path()).parent_path();
  EXPECT_EQ(read.app.working_directory, folder);
  EXPECT_EQ(read.process.pid_file, folder + "/run/pid");
  EXPECT_EQ(read.server.certfile, folder + "/cert.pem");
  EXPECT_THAT(read.listen.bind, ElementsAre(BindAddress(UnixAddress{folder + "/app.sock", 0660})));
  EXPECT_EQ(read.server.access_logfile, "-");
  EXPECT_EQ(read.log.events, folder + "/e.jsonl");
  EXPECT_EQ(read.control.path, folder + "/c.sock");
  EXPECT_EQ(refusal({"a:b", "--chdir", "/nowhere"}), "--chdir: there is no folder /nowhere");
}

TEST(ReadConfig, RefusesASocketPathThatTheKernelCannotTake) {
  const std::string path = "/" + std::string(unix_path_most_bytes - 1, 'x');
  EXPECT_EQ(config({"a:b", "--control", path}).control.path, path);
  EXPECT_THAT(refusal({"a:b", "--control", path + "x"}),
              testing::StartsWith("--control: the path of the control socket has 108 bytes and may have 107"));
  EXPECT_THAT(refusal({"a:b", "-b", "unix:" + path.substr(1)}), HasSubstr("is too long for a socket"))
      << "once absolute";
}

TEST(ReadConfig, LooksUpUserAndGroup) {
  EXPECT_EQ(config({"a:b"}).process.run_as, std::nullopt);
  const auto root = config({"a:b", "-u", "root"}).process.run_as;
  EXPECT_EQ(root, (RunAs{0, 0, "root"}));
  EXPECT_EQ(config({"a:b", "-u", "0", "-g", "4711"}).process.run_as, (RunAs{0, 4711, "root"}));
  EXPECT_EQ(config({"a:b", "-g", "root"}).process.run_as, (RunAs{geteuid(), 0, ""}));
  EXPECT_EQ(config({"a:b", "-u", "3123456789", "-g", "3"}).process.run_as, (RunAs{3123456789, 3, ""}));
  EXPECT_EQ(refusal({"a:b", "-u", "3123456789"}), "--user: this number has no passwd entry: give --group too");
  EXPECT_EQ(refusal({"a:b", "-u", "nobody-here"}), "--user: there is no user 'nobody-here' here");
  EXPECT_EQ(refusal({"a:b", "-g", "nobody-here"}), "--group: there is no group 'nobody-here' here");
  EXPECT_EQ(refusal({"a:b", "-u", "4294967295"}), "--user: '4294967295' is out of range: 0 to 4294967294");
}

TEST(ReadConfig, FindsTheInterpreter) {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path("venv/bin"));
  std::filesystem::create_symlink("/bin/sh", scratch.path("venv/bin/python"));
  EXPECT_EQ(config({"a:b", "--python", scratch.path("venv")}).app.python, scratch.path("venv/bin/python"));
  EXPECT_EQ(config({"a:b", "--python", "python"}, with({{"PATH", "/nowhere:" + scratch.path("venv/bin")}})).app.python,
            scratch.path("venv/bin/python"));
  EXPECT_EQ(refusal({"a:b", "--python", "/nowhere"}), "--python: there is no interpreter /nowhere");
  EXPECT_EQ(refusal({"a:b", "--python", "python9"}, with({{"PATH", "/nowhere"}})),
            "--python: there is no program 'python9' in PATH");
  EXPECT_EQ(refusal({"--python", "/nowhere", "--", "ls"}), "(accepted)") << "a command needs none";
}

TEST(ReadConfig, LooksForTheProgramOfACommandAsItsWorkersWill) {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path("bin"));
  std::filesystem::create_symlink("/bin/sh", scratch.path("bin/serve"));
  scratch.file("no-program", "");
  const std::string nowhere = "the command after --: there is no program 'serve' in PATH";
  EXPECT_EQ(refusal({"--", "serve"}), nowhere);
  EXPECT_EQ(refusal({"--", "serve"}, with({{"PATH", "/nowhere:" + scratch.path("bin")}})), "(accepted)");
  EXPECT_EQ(refusal({"-e", "PATH=" + scratch.path("bin"), "--", "serve"}), "(accepted)");
  EXPECT_EQ(refusal({"-e", "PATH=/nowhere", "--", "serve"}, with({{"PATH", scratch.path("bin")}})), nowhere);
  EXPECT_EQ(refusal({"--chdir", scratch.path(), "--", "serve"}, with({{"PATH", "bin"}})), nowhere) << "not absolute";
  EXPECT_EQ(refusal({"--chdir", scratch.path(), "--", "bin/serve"}), "(accepted)");
  EXPECT_EQ(refusal({"--", "/nowhere/serve"}),
            "the command after --: cannot run '/nowhere/serve': No such file or directory");
  EXPECT_EQ(refusal({"--", scratch.path("no-program")}),
            "the command after --: cannot run '" + scratch.path("no-program") + "': Permission denied");
  EXPECT_EQ(refusal({"--", scratch.path("bin")}),
            "the command after --: '" + scratch.path("bin") + "' is a folder, no program");
}

TEST(ReadConfig, WantsTheFolderOfAControlSocketThatIsNamed) {
  const Scratch scratch;
  EXPECT_EQ(refusal({"a:b", "--control", scratch.path("c.sock")}), "(accepted)");
  EXPECT_EQ(refusal({"a:b", "--control", scratch.path("gone/c.sock")}),
            "--control: there is no folder " + scratch.path("gone") + " for the control socket: make it first");
  EXPECT_EQ(refusal({"a:b"}, with({{"MOULT_CONTROL", "/nowhere/c.sock"}})).substr(0, 37),
            "MOULT_CONTROL: there is no folder /no");
  EXPECT_EQ(refusal({"a:b"}), "(accepted)") << "the default one's is made when the socket is";
}

TEST(ReadConfig, LooksForTheFilesOfTlsAndOfANativeApp) {
  EXPECT_EQ(refusal({"a:b", "--certfile", "/nowhere"}), "--certfile: cannot read /nowhere: No such file or directory");
  EXPECT_EQ(refusal({"a:b", "--keyfile", "/etc/passwd"}), "--keyfile: needs --certfile too");
  EXPECT_EQ(refusal({"a:b", "--certfile", "/etc"}), "--certfile: /etc is a folder: name the file");
  EXPECT_EQ(refusal({"a:b", "--certfile", "/etc/passwd", "--keyfile", "/etc"}),
            "--keyfile: /etc is a folder: name the file");
  EXPECT_EQ(refusal({"--app", "native:/nowhere.so"}), "--app: there is no /nowhere.so");
  EXPECT_EQ(config({"--app", "native:/bin/sh"}).app.kind, AppKind::native);
}

TEST(ReadConfig, LooksWhetherTheFilesThatAreWrittenCanBe) {
  const Scratch scratch;
  const std::string file = scratch.file("file", ""), gone = scratch.path("gone") + "/file";
  for (const std::string flag : {"--pid", "--events", "--access-logfile"}) {
    EXPECT_EQ(refusal({"a:b", flag, gone}), flag + ": there is no folder " + scratch.path("gone") + ": make it first");
    EXPECT_EQ(refusal({"a:b", flag, scratch.path()}), flag + ": " + scratch.path() + " is a folder: name the file");
    EXPECT_EQ(refusal({"a:b", flag, file + "/x"}), flag + ": there is no folder " + file + ": make it first");
    EXPECT_EQ(refusal({"a:b", flag, file}), "(accepted)");
    EXPECT_EQ(refusal({"a:b", flag, scratch.path("new")}), "(accepted)");
    EXPECT_FALSE(std::filesystem::exists(scratch.path("new"))) << "it only looks";
  }
  EXPECT_THAT(refusal({"a:b", "--pid", "/proc/self/pid"}), HasSubstr("--pid: cannot write /proc/self/pid: "));
  EXPECT_EQ(refusal({"a:b", "--events", "-", "--access-logfile", "-"}), "(accepted)");
  EXPECT_EQ(refusal({"a:b", "--user", "1", "--group", "1", "--access-logfile", gone}), "(accepted)") << "it is theirs";
}

TEST(ReadConfig, TheControlSocketTakesNobodysPlace) {
  const Scratch scratch;
  EXPECT_EQ(refusal({"a:b", "--control", scratch.path()}),
            "--control: " + scratch.path() + " is there and is no socket: remove it, or choose another");
}

TEST(ReadConfig, TakesAnEmptyListOfProxiesForNobodyAndAnEmptyRootPathForNone) {
  const auto server = config({"a:b", "--forwarded-allow-ips", "", "--root-path="}).server;
  EXPECT_EQ(server.forwarded_allow_ips, "");
  EXPECT_EQ(server.root_path, "");
  EXPECT_FALSE(config({"a:b"}).server.forwarded_allow_ips) << "the server's own default";
  EXPECT_EQ(refusal({"a:b", "--certfile", ""}), "--certfile: is empty");
  EXPECT_THAT(request({"--print-config", "a:b", "--forwarded-allow-ips", ""}).printed,
              HasSubstr("\"forwarded-allow-ips\": \"\""));
}

TEST(ReadConfig, RefusesSparesWhereNoneCanWait) {
  EXPECT_EQ(config({"a:b", "--spares", "2"}).workers.spares, 2u);
  EXPECT_EQ(config({"a:b"}).workers.spares, 0u);
  EXPECT_THAT(refusal({"a:b", "--spares", "101"}), HasSubstr("--spares"));
  EXPECT_EQ(refusal({"--spares", "1", "--", "ls"}),
            "--spares: a command serves as soon as it is started, so that none can wait: leave it out");
  EXPECT_EQ(refusal({"--spares", "0", "--", "ls"}), "(accepted)");
  EXPECT_THAT(refusal({"a:b", "--spares", "1", "--replace", "in-place"}), HasSubstr("leave one of the two out"));
}

TEST(ReadConfig, WarnsOfFlagsWithoutEffect) {
  EXPECT_THAT(request({"-k", "sync", "--", "ls"}, {}).warnings,
              ElementsAre("--worker-class has no effect: a command is started as it is"));
  EXPECT_THAT(request({"a:b", "--ready-delay", "2"}).warnings,
              ElementsAre("--ready-delay has no effect: an app says itself when it is ready"));
  EXPECT_THAT(request({"a:b", "--admin-token", "0123456789abcdef"}).warnings,
              ElementsAre("--admin-token has no effect: there is no --admin",
                          "--admin-token can be read in ps by every user here: set MOULT_ADMIN_TOKEN instead"));
  EXPECT_THAT(request({"a:b", "-k", "uvicorn", "--threads", "4"}).warnings,
              ElementsAre("--threads has no effect: uvicorn serves with one loop; -k gthread has threads"));
  EXPECT_THAT(request({"a:b", "-k", "gthread", "--threads", "4"}).warnings, IsEmpty());
  EXPECT_THAT(request({"a:b", "--hard-limit", "1GB"}).warnings,
              ElementsAre("--hard-limit has no effect: there is no --memory-limit"));
  EXPECT_THAT(request({"a:b", "--max-requests-jitter", "5"}).warnings,
              ElementsAre("--max-requests-jitter has no effect: there is no --max-requests"));
  EXPECT_THAT(request({"a:b", "--memory-limit", "1GB", "--hard-limit", "2GB"}).warnings, IsEmpty());
  EXPECT_THAT(request({"a:b"}).warnings, IsEmpty());
}

TEST(ReadConfig, ReadsThePathsOfHealthChecks) {
  const std::vector<std::string> three{"/healthz", "/", "/up/now"};
  const auto paths = [](const Arguments& line, const Environment& environment = plain_environment()) {
    return config(line, environment).connections.idle_ignore;
  };
  EXPECT_THAT(paths({"a:b"}), IsEmpty());
  EXPECT_EQ(paths({"a:b", "--idle-ignore", "/healthz", "--idle-ignore=/", "--idle-ignore", "/up/now"}), three);
  EXPECT_EQ(paths({"a:b", "--idle-ignore", "/healthz,/,/up/now,/"}), three) << "and once each";
  EXPECT_EQ(paths({"a:b"}, with({{"MOULT_IDLE_IGNORE", "/healthz,/,/up/now"}})), three);
  for (const std::string bad : {"healthz", "", "/a,", "/a,b", "/a?b", "/a#b", "/a b", "/\xc3\xa9", "/a\n"})
    EXPECT_THAT(refusal({"a:b", "--idle-ignore", bad}), StartsWith("--idle-ignore")) << bad;
  EXPECT_THAT(refusal({"a:b", "--idle-ignore", "healthz"}), HasSubstr("it begins with /"));
  EXPECT_THAT(refusal({"a:b", "--idle-ignore", "/" + std::string(1024, 'x')}), HasSubstr("longer than 1024"));
  std::string many;
  for (int i = 0; i < 65; ++i) many += (i > 0 ? ",/" : "/") + std::to_string(i);
  EXPECT_THAT(refusal({"a:b", "--idle-ignore", many}), HasSubstr("more than 64 paths"));
  EXPECT_THAT(request({"--idle-ignore", "/up", "--", "ls"}, {}).warnings,
              ElementsAre("--idle-ignore has no effect: a command is started as it is"));
}

TEST(ReadConfig, WarnsThatMaxRequestsIsBoundByTheDefaultRate) {
  EXPECT_THAT(request({"a:b", "--max-requests", "1000"}).warnings, ElementsAre(HasSubstr("set --recycle-rate")));
  EXPECT_THAT(request({"a:b", "--max-requests", "1000", "--recycle-rate", "off"}).warnings, IsEmpty());
}

TEST(ReadConfig, ReadsWhereTheFleetsLedgerIs) {
  EXPECT_FALSE(request({"a:b"}).config.fleet.store);
  const auto read = request({"a:b", "--fleet", "rediss://store.example:7000/3", "--fleet-name", "web"});
  EXPECT_EQ(read.config.fleet.store->host, "store.example");
  EXPECT_EQ(read.config.fleet.name, "web");
  EXPECT_THAT(read.warnings, IsEmpty());
}

TEST(ReadConfig, RefusesAFleetWithoutANameAndAPasswordThatPsShows) {
  EXPECT_THAT(refusal({"a:b", "--fleet", "redis://store"}), HasSubstr("say --fleet-name"));
  const std::string refused = refusal({"a:b", "--fleet", "redis://:open-sesame@store", "--fleet-name", "web"});
  EXPECT_THAT(refused, HasSubstr("MOULT_FLEET_PASSWORD"));
  EXPECT_THAT(refused, Not(HasSubstr("open-sesame")));
  EXPECT_THAT(refusal({"a:b", "--fleet", "http://store", "--fleet-name", "web"}), HasSubstr("or local"));
}

TEST(ReadConfig, TakesTheMinimumThatServesInWholePercent) {
  EXPECT_EQ(config({"a:b", "--min-healthy", "66%"}).fleet.min_healthy_percent, 66u);
  EXPECT_EQ(refusal({"a:b", "--min-healthy", "66.7%"}),
            "--min-healthy: '66.7%' is not a whole percentage: write 66% or 67%");
}

TEST(ReadConfig, QuotesARateAsItWasWritten) {
  for (const char* rate : {"0/h", "x/h/worker"})
    EXPECT_EQ(refusal({"a:b", "--recycle-rate", rate}),
              std::string("--recycle-rate: '") + rate +
                  "' is not a rate: N is a number above 0, at most 1000000; or say off");
}

TEST(ReadConfig, WarnsOfFleetFlagsWithoutAFleet) {
  EXPECT_THAT(request({"a:b", "--urgent-wait", "5s"}).warnings,
              ElementsAre("--urgent-wait has no effect: --fleet is local"));
}

TEST(ReadConfig, KnowsWhatItWasAskedFor) {
  EXPECT_EQ(request({"a:b"}).purpose, Purpose::run);
  EXPECT_EQ(request({"a:b", "--check-config"}).purpose, Purpose::check);
  EXPECT_EQ(request({"a:b", "--print-config"}).purpose, Purpose::print);
  EXPECT_EQ(request({"--help"}).purpose, Purpose::help) << "nothing else is needed then";
  EXPECT_EQ(request({"-h"}).purpose, Purpose::help);
  EXPECT_EQ(request({"a:b", "--check-config=off"}).purpose, Purpose::run);
  EXPECT_EQ(refusal({"a:b", "--check-config=x"}), "--check-config: 'x' is neither on nor off");
}
}  // namespace
}  // namespace moult
