#pragma once
// What follows the head of /events: server-sent events, one picture of the status each, as long as the viewer stays.
// Runs on one admin thread a viewer, and sees the SnapshotBoard and nothing else.
//   event: status   data: the status document   with each new picture, at most one in viewer_picture_every
//   event: still    data: {"seconds":N}         the loop has not turned for so long: what was told is old
// Each picture is put into words once, whoever many look at it.
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "master/report/snapshot.h"
namespace moult {
inline constexpr unsigned most_viewers = 24;  // a choice: a team's open tabs; each holds a thread
inline constexpr Duration viewer_picture_every = std::chrono::milliseconds(250);
inline constexpr Duration viewer_silence_most = std::chrono::seconds(3);  // without any picture; then `still`

class StatusEvents {
 public:
  explicit StatusEvents(std::shared_ptr<const SnapshotBoard> board) : board_(std::move(board)) {}

  // A viewer's place, as long as it lives. False: there is none.
  class Place {
   public:
    explicit Place(StatusEvents& of) : of_(of), had_(of.viewers_.fetch_add(1) < most_viewers) {}
    ~Place() { of_.viewers_.fetch_sub(1); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    explicit operator bool() const { return had_; }

   private:
    StatusEvents& of_;
    const bool had_;
  };

  // `send` is false when the viewer is gone. Returns then, or soon after end().
  void tell(const std::function<bool(std::string_view)>& send);
  void end();  // from any thread

 private:
  std::shared_ptr<const std::string> words_of(const std::shared_ptr<const Snapshot>&);

  std::shared_ptr<const SnapshotBoard> board_;
  std::atomic<unsigned> viewers_{0};
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::shared_ptr<const Snapshot> told_;  // what words_ are of
  std::shared_ptr<const std::string> words_;
};
}  // namespace moult
