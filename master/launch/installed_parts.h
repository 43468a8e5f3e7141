#pragma once
// Where the parts of moult are that it executes: beside its own program, wherever that was installed or copied to.
//   PREFIX/bin/moult   PREFIX/libexec/moult/moult-native-fork-server   PREFIX/share/moult/python/moult/
//   PREFIX/libexec/moult/moult-doctor and what else is a program of its own (installed_tools.h)
// The build tree has the same shape.
#include <string>

#include "base/result.h"
namespace moult {
struct InstalledParts {
  std::string native_fork_server;  // a program
  std::string python_package;      // a folder that Python can run

  // Fails when one is missing: the installation is not whole.
  static Result<InstalledParts> find();
  // The path of one of the programs in libexec.
  static Result<std::string> program(const std::string& name);
};
}  // namespace moult
