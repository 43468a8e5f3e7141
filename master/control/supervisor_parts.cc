#include "master/control/supervisor_parts.h"
namespace moult {
OperatorParts supervisor_parts(Supervisor& supervisor) {
  OperatorParts parts;
  parts.stop = [&] { supervisor.stop(); };
  parts.stop_quickly = [&] { supervisor.stop_quickly(); };
  parts.scale = [&](unsigned workers) { supervisor.scale(workers); };
  parts.reload = [&](std::function<void(const ReloadOutcome&)> finished) { supervisor.reload(std::move(finished)); };
  parts.wanted = [&] { return supervisor.pool().goal.workers; };
  parts.mode = [&] { return supervisor.pool().goal.mode; };
  parts.reopen_worker_logs = [&] { supervisor.reopen_logs(); };
  return parts;
}
}  // namespace moult
