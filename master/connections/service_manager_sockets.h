#pragma once
// The sockets that systemd (or anything that does as it does) opened for us: LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES.
#include <vector>

#include "base/result.h"
#include "master/connections/listening_socket.h"
namespace moult {
inline constexpr int first_passed_fd = 3;
inline constexpr unsigned passed_fds_most = 256;  // of ours; systemd itself has no bound

// Takes those that are meant for this process (LISTEN_PID is our pid) and takes all three variables out of the
// environment, so that no child thinks they are for it. None: an empty list. An error names the socket as its unit does
// (FileDescriptorName=). Called once, before the loop runs.
Result<std::vector<ListeningSocket>> take_service_manager_sockets();
}  // namespace moult
