#include "master/config/identity.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>

#include "master/config/in_quotes.h"
#include "master/config/units.h"
namespace moult {
namespace {
constexpr std::uint64_t highest_id = 4294967294;  // 2^32 - 1 means "unchanged" to setuid(2)

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}
}  // namespace

Result<RunAs> look_up_user(std::string_view text) {
  const std::string name(text);
  if (!is_number(text)) {
    const passwd* entry = getpwnam(name.c_str());
    if (!entry) return Error{"there is no user " + in_quotes(name) + " here"};
    return RunAs{entry->pw_uid, entry->pw_gid, entry->pw_name};
  }
  const auto uid = parse_number(text, {0, highest_id});
  if (!uid) return uid.error();
  const passwd* entry = getpwuid(static_cast<uid_t>(*uid));
  if (!entry) return RunAs{static_cast<uid_t>(*uid), no_group, ""};
  return RunAs{entry->pw_uid, entry->pw_gid, entry->pw_name};
}

Result<gid_t> look_up_group(std::string_view text) {
  const std::string name(text);
  if (is_number(text)) {
    const auto gid = parse_number(text, {0, highest_id});
    if (!gid) return gid.error();
    return static_cast<gid_t>(*gid);
  }
  const group* entry = getgrnam(name.c_str());
  if (!entry) return Error{"there is no group " + in_quotes(name) + " here"};
  return entry->gr_gid;
}
}  // namespace moult
