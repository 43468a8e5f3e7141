#include "master/sleep/curl_library.h"

#include <dlfcn.h>

#include <string>
namespace moult {
namespace {
// Its interface has been that of libcurl.so.4 since 2006.
constexpr const char* library_name = "libcurl.so.4";

template <class Function>
bool find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Error cannot_open() {
  const char* why = ::dlerror();
  return Error{"scheduled calls cannot be made: " + std::string(why ? why : library_name) + ": install libcurl4"};
}

Result<CurlLibrary> load() {
  void* library = ::dlopen(library_name, RTLD_LAZY | RTLD_LOCAL);
  if (!library) return cannot_open();
  CurlLibrary all{};
  const bool complete =
      find(library, all.global_init, "curl_global_init") && find(library, all.easy_init, "curl_easy_init") &&
      find(library, all.easy_cleanup, "curl_easy_cleanup") && find(library, all.easy_setopt, "curl_easy_setopt") &&
      find(library, all.easy_getinfo, "curl_easy_getinfo") && find(library, all.easy_strerror, "curl_easy_strerror") &&
      find(library, all.multi_init, "curl_multi_init") && find(library, all.multi_cleanup, "curl_multi_cleanup") &&
      find(library, all.multi_setopt, "curl_multi_setopt") &&
      find(library, all.multi_add_handle, "curl_multi_add_handle") &&
      find(library, all.multi_remove_handle, "curl_multi_remove_handle") &&
      find(library, all.multi_socket_action, "curl_multi_socket_action") &&
      find(library, all.multi_info_read, "curl_multi_info_read") &&
      find(library, all.slist_append, "curl_slist_append") && find(library, all.slist_free_all, "curl_slist_free_all");
  if (!complete) return cannot_open();
  all.global_init(CURL_GLOBAL_NOTHING);  // plain HTTP over a unix socket
  return all;
}

const Result<CurlLibrary>& loaded() {
  static const Result<CurlLibrary> once = load();
  return once;
}
}  // namespace

Result<void> open_curl() {
  if (!loaded()) return loaded().error();
  return {};
}

const CurlLibrary& curl() { return *loaded(); }
}  // namespace moult
