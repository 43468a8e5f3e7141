#pragma once
// The app's sleep on disk (--state-dir): one small file, replaced as a whole at each change. Written by a thread of
// libuv's pool, since a disk may take its time and a wake may not wait for it; a change that comes meanwhile is written
// after it, the latest only. Made by Instance, on the loop's thread.
#include <uv.h>

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "master/sleep/saved_state.h"
namespace moult {
// What it says; active where there is none, or nothing that we wrote.
IdleState read_state_file(const std::string& path);

class StateFile {
 public:
  // `trouble`: one line, when writing begins to fail and when it works again; the app goes on as if nothing were.
  StateFile(uv_loop_t*, std::string path, std::function<void(const std::string&)> trouble);
  // Writes what is still to be written; waits for the disk, at most for farewell.
  ~StateFile();
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;

  void save(IdleState);

 private:
  static constexpr std::chrono::seconds farewell{1};
  struct Shared;  // with the thread
  struct Writing;
  void write();
  void written(const Result<void>&);

  uv_loop_t* loop_;
  std::function<void(const std::string&)> trouble_;
  std::shared_ptr<Shared> shared_;
  std::string wanted_, on_disk_;  // on_disk_: as far as we know
  Writing* writing_ = nullptr;    // its own owner; told when we are gone
  bool fails_ = false;
};
}  // namespace moult
