// A wall clock that a test can set, for a program of its own: put into LD_PRELOAD, with the name of a file in
// MOULT_CLOCK_SHIFT that holds one 64-bit number, by how many microseconds the clock is to be ahead. The monotonic
// clock is not touched.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {
const std::atomic<std::int64_t>* shared_shift() {
  static const std::atomic<std::int64_t> none{0};
  const char* path = std::getenv("MOULT_CLOCK_SHIFT");
  const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return &none;
  void* page = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  return page == MAP_FAILED ? &none : static_cast<const std::atomic<std::int64_t>*>(page);
}

std::int64_t shift_microseconds() {
  static const std::atomic<std::int64_t>* shift = shared_shift();
  return shift->load();
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}
}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto real = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = real(clock, time);
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return result;
  const std::int64_t nanoseconds = time->tv_nsec + shift_microseconds() % 1'000'000 * 1000 + 1'000'000'000;
  time->tv_sec += shift_microseconds() / 1'000'000 + nanoseconds / 1'000'000'000 - 1;
  time->tv_nsec = nanoseconds % 1'000'000'000;
  return result;
}

extern "C" int gettimeofday(timeval* __restrict time, void* __restrict) noexcept {
  timespec now{};
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}

extern "C" time_t time(time_t* to) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (to) *to = now.tv_sec;
  return now.tv_sec;
}
