// moult COMMAND ...: `run` becomes the master, the others ask a running one, print, or are programs of their own. One
// error is one line on stderr.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "master/config/help.h"
#include "master/config/nearest_name.h"
#include "master/config/read_config.h"
#include "master/control/client_commands.h"
#include "master/control/signals.h"
#include "master/instance.h"
#include "master/instance_options.h"
#include "master/launch/installed_tools.h"
#include "master/launch/open_files.h"
namespace moult {
namespace {
constexpr int cannot_run = 1, bad_usage = 2;

// Commands of DESIGN that have their name already, so that who types one is told so.
const std::vector<std::string_view> later_commands = {"simulate", "gunicorn", "upgrade"};
const std::vector<std::string_view> commands = {"run",  "status", "events",    "fleet",    "scale",
                                                "stop", "reload", "recycle",   "schedule", "sleep",
                                                "wake", "doctor", "correlate", "version",  "help"};

int fail(int status, const std::string& why) {
  std::cerr << "moult: " + why + "\n";
  return status;
}

// What could not be written (to a full disk, say) was not printed, and whoever reads the exit status must know.
int printed(int status) {
  std::cout.flush();
  if (std::cout || status != EXIT_SUCCESS) return status;
  return fail(cannot_run, "cannot write to stdout");
}

int print(const std::string& text) {
  std::cout << text;
  return printed(EXIT_SUCCESS);
}

int run(const Config& config) {
  const auto instance = Instance::create(config, MOULT_VERSION);
  return instance ? (*instance)->run() : fail(cannot_run, instance.error().message);
}

int check(const Config& config) {
  unblock_signals();  // no loop will listen to them
  if (const auto taken = options::server_takes_its_settings(config); !taken)
    return fail(bad_usage, taken.error().message);
  if (const auto files = options::readable(config); !files) return fail(cannot_run, files.error().message);
  std::string said = "the configuration is good\n";
  for (const std::string& line : options::saturation(config)) said += line + "\n";
  raise_open_files();
  for (const std::string& line : options::parking_cut(config)) said += line + "\n";
  return print(said);
}

int run_command(const std::vector<std::string>& arguments) {
  const auto request = read_config(arguments, environment_of(environ));
  if (!request) return fail(bad_usage, request.error().message);
  if (request->purpose == Purpose::help) return print(help_text());
  if (const auto checked = options::checked(request->config); !checked) return fail(bad_usage, checked.error().message);
  for (const std::string& warning : request->warnings) std::cerr << "moult: warning: " + warning + "\n";
  switch (request->purpose) {
    case Purpose::run: return run(request->config);
    case Purpose::check: return check(request->config);
    case Purpose::print: return print(request->printed);
    case Purpose::help: break;
  }
  return bad_usage;
}

int no_such_command(const std::string& word) {
  if (std::find(later_commands.begin(), later_commands.end(), word) != later_commands.end())
    return fail(bad_usage, "'" + word + "' comes with a later version of moult");
  if (word.starts_with('-'))
    return fail(bad_usage, "'" + word + "' comes after a command: moult run [options] MODULE:ATTR");
  if (word.find(':') != std::string::npos)
    return fail(bad_usage, "no command '" + word + "': did you mean: moult run " + word);
  return fail(bad_usage, "no command '" + word + "'" + did_you_mean(word, commands, "moult ", "see 'moult help'"));
}

int ask_master(int argc, char** argv) {
  return printed(run_client_command(argc, argv, {MOULT_VERSION, ::getenv, std::cout, std::cerr, terminal_width()}));
}

int choose(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "run") return run_command({argv + 2, argv + argc});
  unblock_signals();  // no loop will listen to them
  if (command.empty()) {
    std::cerr << usage_text();
    return bad_usage;
  }
  if (command == "help" || command == "--help" || command == "-h") return print(help_text());
  if (command == "--version" || command == "-V") return print("moult " MOULT_VERSION "\n");
  if (is_tool(command)) return fail(cannot_run, execute_tool(command, {argv + 2, argv + argc}).message);
  return is_client_command(command) ? ask_master(argc - 1, argv + 1) : no_such_command(command);
}
}  // namespace
}  // namespace moult

int main(int argc, char** argv) {
  moult::block_signals_early();
  moult::open_standard_descriptors();
  try {
    return moult::choose(argc, argv);
  } catch (const std::exception& error) {  // out of memory, at the most: rooms answer with Results
    return moult::fail(moult::cannot_run, error.what());
  }
}
