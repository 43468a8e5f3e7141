#pragma once
// What is on its way over a connection that we hold, and its end without a farewell. Thin: four system calls. Used by
// ClosingConnections, and by the tests of everything that waits for an acknowledgement.
#include "base/result.h"
#include "base/unique_fd.h"
#include "master/connections/linger.h"
namespace moult {
// Of TCP: TIOCOUTQ and tcp_info. Of a unix socket: delivered, always, because what was written lies in its client's own
// queue already, and stays there for it whatever becomes of us. The error says what could not be asked.
Result<SendQueueReading> read_send_queue(int fd);

// Of a stream that is connected, or was; not of one that listens.
bool is_connection(int fd);

// The first rung of abort_ladder.h. A reset for the client, if nobody else holds a copy of the descriptor; what is not
// acknowledged by then is lost.
void abort_connection(UniqueFd);
// The same for one whose descriptor stays its owner's, who finds it at its end (connect(2), AF_UNSPEC). False: the
// kernel would not.
bool reset_connection(int fd);
}  // namespace moult
