#pragma once
// The status document (DESIGN §11, Status), for `moult status --json`, the control socket and /status.json. Pure: it
// only formats what it is given. Called on the loop's thread and on admin threads. Keys of features that this instance
// does not have are absent, and readers accept that.
#include <string>

#include "master/report/snapshot.h"
namespace moult {
std::string status_json(const Snapshot&);  // one line without a newline
}  // namespace moult
