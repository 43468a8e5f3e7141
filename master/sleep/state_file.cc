#include "master/sleep/state_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/unique_fd.h"
namespace moult {
namespace {
constexpr std::size_t longest_state = 64;  // of what we write; more than that is not ours

Result<void> replace_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".new";
  const auto failed = [&](const char* what) {
    const Error error = errno_error(std::string("cannot ") + what + " " + temporary, errno);
    ::unlink(temporary.c_str());
    return error;
  };
  const UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd) return failed("create");
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return failed("write");
  if (::fsync(fd.get()) != 0) return failed("write");
  if (::rename(temporary.c_str(), path.c_str()) != 0) return failed("rename");
  return {};
}
}  // namespace

IdleState read_state_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char text[longest_state];
  const ssize_t size = fd ? ::read(fd.get(), text, sizeof text) : 0;
  return size > 0 ? state_from_saved({text, static_cast<std::size_t>(size)}) : IdleState::active;
}

struct StateFile::Shared {
  std::string path;
  std::mutex mutex;
  std::condition_variable written;
  bool is_written = false;  // by the pool, now
  bool is_closed = false;   // the last one is written: whoever comes later comes too late

  Result<void> write(const std::string& text) {
    {
      const std::lock_guard lock(mutex);
      if (is_closed) return {};
      is_written = true;
    }
    auto result = replace_file(path, text);
    {
      const std::lock_guard lock(mutex);
      is_written = false;
    }
    written.notify_all();
    return result;
  }
  // Of who leaves, and has nobody to tell.
  void write_last(const std::string& text) {
    const auto until = std::chrono::steady_clock::now() + farewell;
    std::unique_lock lock(mutex);
    if (!written.wait_until(lock, until, [this] { return !is_written; })) return;
    is_closed = true;
    static_cast<void>(replace_file(path, text));
  }
};

// One write, until the pool has told the loop of its end.
struct StateFile::Writing {
  uv_work_t request{};
  StateFile* owner;
  std::shared_ptr<Shared> shared;
  std::string text;
  Result<void> result;
};

StateFile::StateFile(uv_loop_t* loop, std::string path, std::function<void(const std::string&)> trouble)
    : loop_(loop), trouble_(std::move(trouble)), shared_(std::make_shared<Shared>()) {
  shared_->path = std::move(path);
}

StateFile::~StateFile() {
  if (writing_) writing_->owner = nullptr;
  const bool is_due = !wanted_.empty() && (writing_ || wanted_ != on_disk_);
  if (is_due) shared_->write_last(wanted_);
}

void StateFile::save(IdleState state) {
  wanted_ = saved_text(state);
  if (!writing_ && wanted_ != on_disk_) write();
}

void StateFile::write() {
  writing_ = new Writing{.owner = this, .shared = shared_, .text = wanted_};
  writing_->request.data = writing_;
  const auto run = [](uv_work_t* request) {
    auto& writing = *static_cast<Writing*>(request->data);
    writing.result = writing.shared->write(writing.text);
  };
  const auto ended = [](uv_work_t* request, int) {
    const std::unique_ptr<Writing> writing(static_cast<Writing*>(request->data));
    if (StateFile* owner = writing->owner) owner->written(writing->result);
  };
  uv_queue_work(loop_, &writing_->request, run, ended);  // fails for want of a function only
}

void StateFile::written(const Result<void>& result) {
  const std::string text = writing_->text;
  writing_ = nullptr;
  if (result) on_disk_ = text;
  else if (!fails_)
    trouble_("--state-dir: " + result.error().message + ": a restart would not know that the app sleeps");
  if (result && fails_) trouble_("--state-dir: " + shared_->path + " is written again");
  fails_ = !result;
  if (wanted_ != text) write();  // a failed one is tried again at the next change
}
}  // namespace moult
