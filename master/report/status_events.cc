#include "master/report/status_events.h"

#include <thread>

#include "master/report/status_json.h"
namespace moult {
namespace {
std::string still(Duration since) {
  return "event: still\ndata: {\"seconds\":" +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(since).count()) + "}\n\n";
}
}  // namespace

std::shared_ptr<const std::string> StatusEvents::words_of(const std::shared_ptr<const Snapshot>& snapshot) {
  const std::lock_guard lock(mutex_);  // who comes second waits for the words of the first
  if (told_ != snapshot) {
    words_ = std::make_shared<const std::string>("event: status\ndata: " + status_json(*snapshot) + "\n\n");
    told_ = snapshot;
  }
  return words_;
}

void StatusEvents::tell(const std::function<bool(std::string_view)>& send) {
  std::shared_ptr<const Snapshot> seen;
  while (!ended_) {
    const auto newest = board_->wait_for_newer(seen, std::chrono::steady_clock::now() + viewer_silence_most, ended_);
    if (ended_) return;
    if (newest == seen) {
      if (!send(still(std::chrono::steady_clock::now() - board_->loop_turned_at()))) return;
      continue;
    }
    seen = newest;
    if (!send(*words_of(newest))) return;
    std::this_thread::sleep_for(viewer_picture_every);
  }
}

void StatusEvents::end() {
  ended_ = true;
  board_->wake();
}
}  // namespace moult
