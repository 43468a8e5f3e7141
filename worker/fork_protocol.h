#pragma once
// What the master and a fork server say to each other, over one SOCK_SEQPACKET pair, in the same KEY=VALUE datagrams as
// workers speak (worker/message.h). Both fork servers hold to it: worker/python/moult/fork_server.py and
// worker/native_fork_server.cc.
//
// The master executes a fork server as: PROGRAM ARGS... --channel-fd N --settings-fd M. The settings are one JSON
// object in a memfd (keys: docs/fork-protocol.md). Listeners are inherited under the fd numbers that the settings name.
//
//   up    HELLO=<contract version>                        first: our part runs in the program that was executed
//         LOADED=1 [SERVER=uvicorn 0.17.6] [WARNING=...]  the app is loaded: forks can be asked for
//         LOAD_FAILED=1 ERROR=<traceback>                 then the fork server exits
//         FORKED=<worker id> PID=<n>                      it exists, and is not the master's child yet
//         FORK_FAILED=<worker id> STAGE=<call> ERRNO=<n>  this worker never came to be
//   down  FORK=<worker id> [SLOT=<n>]                     with 2 fds: the worker's end of its channel, its scoreboard;
//                                                         or 4: also its stdout and its stderr. No slot: a spare
//         EXITED=<pid> [SLOT=<n>]                         a worker that it forked is gone (for gunicorn's child_exit)
//   EOF   either way: the other is gone. A fork server exits at once; its workers live on. Python's, when it is the
//         master that died, first kills the process groups of its workers: what they started goes with them.
//
// A worker is forked twice, so that it becomes the master's own child (the master is a subreaper). The process between
// the two tells the fork server the worker's pid, and exits only when FORKED= was said: so the master knows the pid
// before the worker can be its dead child, and has the exit status also of one that never spoke. The worker waits until
// getppid() is the master, only then sets PDEATHSIG (it follows the *current* parent), looks once more, and says
// HELLO=<contract version> as its first message: the kernel's credentials of that message tell the master its pid.
// ERROR= values have newlines and backslashes escaped (message.h, escape()).
#include <cstdint>
namespace moult {
inline constexpr std::uint64_t contract_version = 1;
// A worker that had to leave requests unanswered at its deadline exits with this (EX_TEMPFAIL of sysexits.h); 0 says
// that everything was answered.
inline constexpr int exit_with_requests_cut = 75;
}  // namespace moult
