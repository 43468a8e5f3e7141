#include "master/report/line_writer.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "master/report/signals_blocked.h"
namespace moult {
namespace {
// After its flush the writer looks at the clock at once, unless it waits in write(2): so this is for a busy machine.
constexpr Duration last_patience = std::chrono::milliseconds(250);

// poll() said yes and write() wrote nothing: the description is non-blocking and another process was faster.
constexpr int pause_after_nothing_ms = 10;

MonotonicTime steady_now() { return std::chrono::steady_clock::now(); }

class Wakeup {  // ends a poll() of the writer's thread
 public:
  explicit Wakeup(UniqueFd fd) : fd_(std::move(fd)) {}
  void ring() const { eventfd_write(fd_.get(), 1); }
  void quieten() const {
    eventfd_t rings;
    eventfd_read(fd_.get(), &rings);
  }
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};

struct Batch {
  std::string text;
  std::vector<std::size_t> ends;  // of its lines
};
}  // namespace

struct LineWriter::Shared {
  Shared(Output to, LineWriterOptions with, UniqueFd wake)
      : output(std::move(to)), options(std::move(with)), wakeup(std::move(wake)) {}

  std::mutex mutex;
  std::condition_variable work, ended;
  std::deque<std::string> lines;
  std::size_t bytes = 0;
  bool reopen = false;
  bool finished = false;
  std::optional<MonotonicTime> give_up_at;  // set: we are being destroyed
  std::atomic<std::uint64_t> dropped{0};

  // The writer's thread alone:
  Output output;
  std::uint64_t said = 0;    // of those dropped
  std::string rest_of_line;  // the end of one of which the beginning is written: it comes before all else
  bool in_trouble = false;
  const LineWriterOptions options;
  const Wakeup wakeup;

  std::size_t put(std::string_view data);
  bool wait_until_writable();
  int patience_ms();  // -1: without end
  Batch take();
  void write(const Batch&);
  void say_dropped();
  void reopen_as_told();
  Result<void> reopen_output();  // fails: as it was
  bool revive();                 // what was deleted; false: it is lost
  void tell_trouble(const std::string& what);
  void tell(const std::function<void(const std::string&)>& whom, const std::string& what);
};

// False: it does not become writable in time, or the output is to be reopened first.
bool LineWriter::Shared::wait_until_writable() {
  if (output.fd() < 0) return true;  // the write will say so
  while (true) {
    pollfd polled[] = {{output.fd(), POLLOUT, 0}, {wakeup.fd(), POLLIN, 0}};
    ::poll(polled, 2, patience_ms());
    if (polled[0].revents != 0) return true;
    if (polled[1].revents == 0) return false;
    wakeup.quieten();
    const std::lock_guard lock(mutex);
    if (reopen) return false;
  }
}

int LineWriter::Shared::patience_ms() {
  const std::lock_guard lock(mutex);
  if (!give_up_at) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*give_up_at - steady_now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

// How much of it was written.
std::size_t LineWriter::Shared::put(std::string_view data) {
  std::string_view rest = data;
  while (!rest.empty() && wait_until_writable()) {
    const auto written = output.write_some(rest);
    if (!written) {
      tell_trouble(written.error().message);
      break;
    }
    if (*written == 0) ::poll(nullptr, 0, pause_after_nothing_ms);
    rest.remove_prefix(*written);
    in_trouble = false;
  }
  return data.size() - rest.size();
}

// As many lines as make one write, at least one. With the mutex held.
Batch LineWriter::Shared::take() {
  Batch batch;
  do {
    batch.text += lines.front();
    batch.ends.push_back(batch.text.size());
    bytes -= lines.front().size();
    lines.pop_front();
  } while (!lines.empty() && batch.text.size() + lines.front().size() <= PIPE_BUF);
  return batch;
}

void LineWriter::Shared::write(const Batch& batch) {
  const bool lost = output.is_deleted() && !revive();
  if (!rest_of_line.empty() && !lost) rest_of_line.erase(0, put(rest_of_line));
  const std::size_t written = lost || !rest_of_line.empty() ? 0 : put(batch.text);
  auto first_lost = std::ranges::upper_bound(batch.ends, written);
  if (written > 0 && batch.text[written - 1] != '\n') {
    rest_of_line = batch.text.substr(written, *first_lost - written);
    ++first_lost;
  }
  dropped.fetch_add(static_cast<std::uint64_t>(batch.ends.end() - first_lost), std::memory_order_relaxed);
}

void LineWriter::Shared::say_dropped() {
  const std::uint64_t now = dropped.load(std::memory_order_relaxed);
  if (now == said || !rest_of_line.empty() || output.is_deleted() || !options.say_dropped) return;
  const std::string line = options.say_dropped(now - said);
  const std::size_t written = put(line);
  if (written == 0) return;
  rest_of_line = line.substr(written);
  said = now;
}

Result<void> LineWriter::Shared::reopen_output() {
  if (auto opened = output.reopen(); !opened) return opened;
  if (!rest_of_line.empty()) dropped.fetch_add(1, std::memory_order_relaxed);  // its beginning is in the other file
  rest_of_line.clear();
  in_trouble = false;
  return {};
}

void LineWriter::Shared::reopen_as_told() {
  const auto opened = reopen_output();
  if (opened) return;
  if (output.is_deleted()) tell_trouble(opened.error().message);
  else tell(options.not_reopened, opened.error().message);
}

bool LineWriter::Shared::revive() {
  const auto opened = reopen_output();
  if (!opened) tell_trouble(opened.error().message);
  return static_cast<bool>(opened);
}

void LineWriter::Shared::tell_trouble(const std::string& what) {
  const bool known = std::exchange(in_trouble, true);
  if (!known) tell(options.trouble, what);
}

void LineWriter::Shared::tell(const std::function<void(const std::string&)>& whom, const std::string& what) {
  if (!whom) return;
  {
    const std::lock_guard lock(mutex);
    if (give_up_at) return;  // whom we would tell may be gone soon
  }
  whom(what);
}

void LineWriter::run(const std::shared_ptr<Shared>& shared) {
  Shared& s = *shared;
  std::unique_lock lock(s.mutex);
  while (true) {
    s.work.wait(lock, [&] { return !s.lines.empty() || s.reopen || s.give_up_at; });
    if (s.reopen) {
      s.reopen = false;
      lock.unlock();
      s.reopen_as_told();
      lock.lock();
    } else if (s.lines.empty()) {
      break;
    } else if (s.give_up_at && steady_now() >= *s.give_up_at) {
      s.dropped.fetch_add(s.lines.size(), std::memory_order_relaxed);
      s.lines.clear();
    } else {
      const Batch batch = s.take();
      const bool was_last = s.lines.empty();
      lock.unlock();
      s.write(batch);
      if (was_last) s.say_dropped();
      lock.lock();
    }
  }
  s.finished = true;
  s.ended.notify_all();
}

Result<std::unique_ptr<LineWriter>> LineWriter::start(Output output, LineWriterOptions options) {
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return errno_error("cannot make an eventfd for the log's writer", errno);
  auto shared = std::make_shared<Shared>(std::move(output), std::move(options), std::move(wake));
  try {
    const SignalsBlocked blocked;
    std::thread thread([shared] { run(shared); });
    return std::unique_ptr<LineWriter>(new LineWriter(shared, std::move(thread)));
  } catch (const std::system_error& error) {
    return errno_error("cannot start the log's writer thread", error.code().value());
  }
}

void LineWriter::end_by(MonotonicTime at) {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->give_up_at) shared_->give_up_at = at;
  shared_->work.notify_all();
  shared_->wakeup.ring();
}

LineWriter::~LineWriter() {
  end_by(steady_now() + shared_->options.flush_at_exit);
  bool finished;
  {
    std::unique_lock lock(shared_->mutex);
    finished = shared_->ended.wait_until(lock, *shared_->give_up_at + last_patience, [&] { return shared_->finished; });
  }
  if (finished) thread_.join();
  else thread_.detach();
}

void LineWriter::write(std::string line) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->lines.size() >= queued_lines_most || shared_->bytes + line.size() > queued_bytes_most) {
      shared_->dropped.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    shared_->bytes += line.size();
    shared_->lines.push_back(std::move(line));
  }
  shared_->work.notify_one();
}

void LineWriter::reopen() {
  const std::lock_guard lock(shared_->mutex);
  shared_->reopen = true;
  shared_->work.notify_one();
  shared_->wakeup.ring();
}

std::uint64_t LineWriter::dropped() const { return shared_->dropped.load(std::memory_order_relaxed); }
}  // namespace moult
