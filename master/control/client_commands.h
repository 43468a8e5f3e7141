#pragma once
// `moult status|events|scale|stop|reload|version`: asks the running moult and prints what it says. Called by main, in a
// process of its own; blocks.
#include <cstddef>
#include <iosfwd>
#include <string>

#include "master/control/client_exit.h"
#include "master/control/client_options.h"
#include "master/control/terminal.h"
namespace moult {
struct ClientSurroundings {
  std::string version;  // this program's
  EnvironmentLookup environment;
  std::ostream& out;
  std::ostream& err;
  std::size_t width = 0;  // of the terminal behind `out`; zero: none
};

// `argv[0]` is the command's name. Answers with the exit status of the process.
int run_client_command(int argc, const char* const* argv, const ClientSurroundings&);
}  // namespace moult
