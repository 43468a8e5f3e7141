#pragma once
// The status page: one file that asks nobody but its own moult for anything. It holds no data itself; it follows
// /events, with the token that it asks its reader for, if there is one. Pure. Sent by admin_answer.
#include <string>
#include <string_view>
namespace moult {
extern const std::string_view status_page;  // status_page.html, kept in the binary

// Its Content-Security-Policy: this very script and this very style, connections to ourselves, nothing else.
const std::string& status_page_policy();
}  // namespace moult
