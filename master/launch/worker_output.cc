#include "master/launch/worker_output.h"

#include <unistd.h>
namespace moult {
namespace {
// A program that opens /dev/stdout by name needs the pipe to be its own. If it cannot be, only that fails, later.
void give_to(const std::optional<Identity>& identity, const UniqueFd& end) {
  if (!identity) return;
  [[maybe_unused]] const int refused = ::fchown(end.get(), identity->user, identity->group);
}
}  // namespace

Result<WorkerOutput> WorkerOutput::open(uv_loop_t* loop, const ChildSettings& settings, const std::string& prefix) {
  WorkerOutput output;
  auto out = OutputRelay::open(loop, OutputStream::standard_output, prefix, settings.sink);
  if (!out) return out.error();
  auto err = OutputRelay::open(loop, OutputStream::standard_error, prefix, settings.sink);
  if (!err) return err.error();
  output.out = std::move(out->first);
  output.out_end = std::move(out->second);
  output.err = std::move(err->first);
  output.err_end = std::move(err->second);
  give_to(settings.identity, output.out_end);
  give_to(settings.identity, output.err_end);
  return output;
}

void WorkerOutput::hand_to(std::vector<FdMapping>& fds) const {
  if (out_end) fds.push_back({out_end.get(), 1});
  if (err_end) fds.push_back({err_end.get(), 2});
}

void WorkerOutput::rename(const std::string& prefix) {
  for (OutputRelay* each : {out.get(), err.get()})
    if (each) each->set_prefix(prefix);
}

std::string worker_prefix(std::optional<unsigned> slot) {
  return "[" + (slot ? std::to_string(*slot) : std::string("spare")) + "] ";
}

std::uint64_t WorkerOutput::dropped_lines() const {
  return (out ? out->dropped_lines() : 0) + (err ? err->dropped_lines() : 0);
}
}  // namespace moult
