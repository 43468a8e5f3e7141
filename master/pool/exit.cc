#include "master/pool/exit.h"

#include <cstring>
namespace moult {
std::string describe(const Exit& exit) {
  if (!exit.stage.empty())
    return exit.stage + (exit.error ? std::string(": ") + std::strerror(exit.error) : std::string(" failed"));
  if (exit.signal) {
    const char* name = sigabbrev_np(*exit.signal);
    return "killed by " + (name ? "SIG" + std::string(name) : "signal " + std::to_string(*exit.signal));
  }
  if (exit.status) return "exited with status " + std::to_string(*exit.status);
  return "is gone";
}
}  // namespace moult
