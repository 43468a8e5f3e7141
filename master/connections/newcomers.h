#pragma once
// Keeps TCP clients out of a listening socket that must not be closed yet, because others are still to be accepted from
// it: whoever the kernel connects between the last accept() and close() is reset. Used by ListeningSocket.
namespace moult {
// The first packet of each new client is dropped, in all processes that have this socket, for good; a client sends it
// again after a second, and is refused if the socket is closed by then. Who is connected already is not touched; nor is
// who has had our answer to his first packet. An error (no such filter in this kernel) changes nothing.
void drop_newcomers(int listening_tcp_socket);
}  // namespace moult
