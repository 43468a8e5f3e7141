#include "master/launch/output_relay.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
namespace moult {
namespace {
constexpr std::size_t read_bytes = 16 * 1024;
constexpr int most_reads_in_one_turn =
    4;  // a pipe holds 64 KiB; one loud worker does not keep the loop from the others
constexpr int most_reads_at_the_end = 64;  // a pipe that was enlarged holds 1 MiB
}  // namespace

Result<std::pair<std::unique_ptr<OutputRelay>, UniqueFd>> OutputRelay::open(uv_loop_t* loop, OutputStream stream,
                                                                            std::string prefix, OutputSink sink) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("cannot make a pipe for output", errno);
  UniqueFd reading(ends[0]), writing(ends[1]);
  ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);  // this end only: programs expect that writing waits
  const int watched = reading.get();
  std::unique_ptr<OutputRelay> relay(new OutputRelay(std::move(reading), stream, std::move(prefix), std::move(sink)));
  auto watch = FdWatch::open(loop, watched, [self = relay.get()](int) { self->read(most_reads_in_one_turn); });
  if (!watch) return watch.error();
  relay->watch_ = std::move(*watch);
  return std::pair(std::move(relay), std::move(writing));
}

OutputRelay::OutputRelay(UniqueFd reading, OutputStream stream, std::string prefix, OutputSink sink)
    : reading_(std::move(reading)), stream_(stream), prefix_(std::move(prefix)), sink_(std::move(sink)) {}

OutputRelay::~OutputRelay() {
  read(most_reads_at_the_end);
  if (!unfinished_.empty()) give(unfinished_);
}

void OutputRelay::read(int most_reads) {
  std::array<char, read_bytes> buffer;
  for (int count = 0; count < most_reads; ++count) {
    const ssize_t length = ::read(reading_.get(), buffer.data(), buffer.size());
    if (length > 0) {
      take({buffer.data(), static_cast<std::size_t>(length)});
    } else if (length < 0 && errno == EINTR) {
      continue;
    } else {
      if (length == 0) watch_.reset();  // all who could write are gone
      return;
    }
  }
}

void OutputRelay::take(std::string_view text) {
  while (!text.empty()) {
    const std::size_t room = longest_line - unfinished_.size();
    const std::size_t newline = text.find('\n');
    const std::size_t length = std::min({newline, room, text.size()});
    unfinished_.append(text.substr(0, length));
    text.remove_prefix(length);
    const bool line_ended = newline == length;
    if (line_ended) text.remove_prefix(1);
    if (!line_ended && unfinished_.size() < longest_line) return;
    const bool only_the_newline_is_left = line_ended && in_pieces_ && unfinished_.empty();
    if (!only_the_newline_is_left) give(unfinished_);
    in_pieces_ = !line_ended;
    unfinished_.clear();
  }
}

void OutputRelay::give(std::string_view line) {
  const bool taken = prefix_.empty() ? sink_(stream_, line) : sink_(stream_, prefix_ + std::string(line));
  if (!taken) ++dropped_lines_;
}
}  // namespace moult
