#pragma once
// What the tests of reading share: a scratch folder with files, and one call that says what came of it.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "master/config/read_config.h"
namespace moult {
using Arguments = std::vector<std::string>;

class Scratch {
 public:
  Scratch() {
    char path[] = "/tmp/moult-config-test-XXXXXX";
    folder_ = mkdtemp(path);
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }
  std::string path(const std::string& name = "") const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
};

// The interpreter is named, since the tests may run where no python3 is in PATH.
inline Environment plain_environment() { return {{"MOULT_PYTHON", "/bin/sh"}, {"XDG_RUNTIME_DIR", "/run/user/7"}}; }

inline Environment with(const Environment& more) {
  Environment environment = plain_environment();
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

inline RunRequest request(const Arguments& arguments, const Environment& environment = plain_environment()) {
  auto read = read_config(arguments, environment);
  if (!read) {
    ADD_FAILURE() << read.error().message;
    return {};
  }
  return *std::move(read);
}

inline Config config(const Arguments& arguments, const Environment& environment = plain_environment()) {
  return request(arguments, environment).config;
}

inline std::string refusal(const Arguments& arguments, const Environment& environment = plain_environment()) {
  const auto read = read_config(arguments, environment);
  return read ? "(accepted)" : read.error().message;
}
}  // namespace moult
