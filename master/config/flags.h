#pragma once
// The flags of `moult run`. Each is written in one place, as a row of the table in flag_table.cc: its name, default,
// type and range, help, and the field of Config that it fills. Command line, environment, config file, `moult help` and
// --print-config are all derived from these rows.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "master/config/config.h"
namespace moult {
enum class FlagGroup {
  app,
  listening,
  server,
  workers,
  recycling,
  fleet,
  sleeping,
  hanging,
  stopping,
  process,
  logging,
  control,
  config
};

// How a value is written in JSON; on the command line and in the environment all are text.
enum class FlagShape {
  text,
  number,  // also a JSON number
  time,    // also a JSON number: seconds
  toggle,  // also a JSON true or false; on the command line the name alone is `on`
  list,    // may be given several times; a JSON array, or one text
  json,    // in a file only: any JSON value, read as its text
  pairs,   // may be given several times as KEY=VALUE; a JSON object, or an array
};

enum class Place { command_line, environment, file };

struct FlagType {
  FlagShape shape;
  // Reads one value into its field; a list's is called once for each. The error says what is wrong with the text alone.
  std::function<Result<void>(Config&, std::string_view)> read;
};

struct Flag {
  std::string_view name;  // without dashes; the key in the file; MOULT_<NAME> in the environment
  char letter = 0;        // the short form; zero: none
  std::string_view metavar = {};
  std::string_view default_text = {};  // read as if it had been given; empty: the field stays as it is
  FlagGroup group;
  std::string_view help = {};
  FlagType type = {};
  std::vector<Place> places = {Place::command_line, Place::environment, Place::file};
  bool secret = false;                                      // never printed
  std::function<std::string(std::string_view)> shown = {};  // a value without what is secret in it; empty: as it is
};

const std::vector<Flag>& flags();  // by group, in the order of help
const Flag* find_flag(std::string_view name);
bool may_stand_in(const Flag&, Place);
std::string variable_of(const Flag&);  // "MOULT_GRACEFUL_TIMEOUT"
std::string_view title_of(FlagGroup);

// The names that may stand there: what a misspelt one is compared with.
std::vector<std::string_view> names_for(Place);

std::vector<Flag> recycling_flags();  // recycling_flags.cc: rows of the table
std::vector<Flag> fleet_flags();      // fleet_flags.cc: likewise
std::vector<Flag> schedule_flags();   // schedule_flags.cc: likewise
std::vector<Flag> sleep_flags();      // sleep_flags.cc: likewise
}  // namespace moult
