#pragma once
// libcurl, opened when the first scheduled call needs it. Linked, it would bring thirty libraries and 3 MB into every
// master, most of which never make a call. Used by CallDelivery, on the loop's thread; once open it stays so.
#include <curl/curl.h>

#include "base/result.h"
namespace moult {
struct CurlLibrary {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_cleanup) multi_cleanup;
  decltype(&curl_multi_setopt) multi_setopt;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_socket_action) multi_socket_action;
  decltype(&curl_multi_info_read) multi_info_read;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
};

// Opens it, or says why it cannot be opened and what to install.
Result<void> open_curl();
// Only once that has succeeded.
const CurlLibrary& curl();
}  // namespace moult
