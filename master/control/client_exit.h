#pragma once
// Exit status of the commands that ask a running moult.
namespace moult {
enum ClientExit {
  client_done = 0,
  client_refused = 1,  // or it failed: the reason is on stderr
  client_usage = 2,
  client_nobody = 3,  // no moult answers there
};
}  // namespace moult
