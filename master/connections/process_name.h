#pragma once
// Names the process that is in our way, for an error that a person can act on.
#include <sys/types.h>

#include <cstdint>
#include <string>
namespace moult {
// "pid 812 (gunicorn)"; without the name where it cannot be read. Instead of a worker of a moult, that moult is named:
// it is what has to be stopped.
std::string process_name(pid_t);

// Who listens on that TCP port, looked up in /proc: the oldest of those who share it. Empty: nobody that we may see
// (only root sees the descriptors of other users).
std::string port_holder(std::uint16_t port);
}  // namespace moult
