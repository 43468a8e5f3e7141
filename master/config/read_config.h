#pragma once
// Reads what `moult run` is to do: flag > environment > config file > default. Called once by main, before there is a
// loop: it reads the config and environment files, looks up user, group and interpreter, and may block for that.
#include <string>
#include <vector>

#include "base/result.h"
#include "master/config/config.h"
#include "master/config/settings.h"
namespace moult {
enum class Purpose { run, check, print, help };
struct RunRequest {
  Purpose purpose = Purpose::run;
  Config config;                      // not filled for help
  std::string printed;                // the answer to --print-config, whatever the purpose
  std::vector<std::string> warnings;  // for the user, one sentence each; nothing was refused
};

// `arguments` are those after `run`. Every error is one of usage (exit 2): one sentence that names what is wrong, where
// it was said, and what would be right.
Result<RunRequest> read_config(const std::vector<std::string>& arguments, const Environment&);

Environment environment_of(const char* const* environ);
}  // namespace moult
