#pragma once
// A native app: a shared object with the functions that moult_worker.h names. Loaded by the native fork server, or with
// `--preload off` by each worker; never unloaded.
#include <string>

#include "base/result.h"
#include "worker/moult_worker.h"
namespace moult {
class NativeApp {
 public:
  // Loads it with all its symbols resolved, and calls its moult_preload(), if it has one. The error is the loader's own
  // sentence, or what the app threw.
  static Result<NativeApp> load(const std::string& path);
  // moult_worker_start(), if it has one: as the next.
  Result<int> start(WorkerContext&) const;
  // moult_worker_main(): its exit status, or what it threw.
  Result<int> run(WorkerContext&) const;

 private:
  using Main = int (*)(WorkerContext&);
  NativeApp(Main starts, Main runs) : start_(starts), main_(runs) {}
  Main start_, main_;  // the first may be null
};
}  // namespace moult
