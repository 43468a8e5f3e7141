#pragma once
// One running moult: all its parts, built in the order in which they need each other, and destroyed in the reverse.
// Decides nothing: no if, no switch, no loop is in its code; each part knows by itself whether it has something to do.
// Made by main, on the main thread, with the signals blocked (signals.h).
#include <memory>
#include <string>

#include "base/result.h"
namespace moult {
struct Config;

class Instance {
 public:
  // Opens everything that can fail (addresses, files, sockets): one sentence if it does, and nothing is left then.
  static Result<std::unique_ptr<Instance>> create(const Config&, const std::string& version);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  int run();  // until stopped; the exit status of the process

 private:
  struct Parts;
  explicit Instance(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};
}  // namespace moult
