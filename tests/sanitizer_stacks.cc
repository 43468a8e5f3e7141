// Part of moult in sanitizer builds alone: civetweb gives its threads 100 kB of stack, most of which a sanitizer takes
// for itself. So they get more.
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cstddef>

extern "C" int pthread_attr_setstacksize(pthread_attr_t* attributes, std::size_t bytes) noexcept {
  constexpr std::size_t enough = 1 << 20;
  using Real = int (*)(pthread_attr_t*, std::size_t);
  static const auto real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "pthread_attr_setstacksize"));
  return real(attributes, std::max(bytes, enough));
}
