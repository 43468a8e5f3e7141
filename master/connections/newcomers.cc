#include "master/connections/newcomers.h"

#include <linux/filter.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdint>
namespace moult {
namespace {
constexpr std::uint32_t flags_offset = 13;  // in the TCP header, which is what a filter of a TCP socket sees first
constexpr std::uint32_t everything = 0xffffffff;
}  // namespace

void drop_newcomers(int listening_tcp_socket) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, flags_offset),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TH_SYN | TH_ACK),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TH_SYN, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, everything),
  };
  const sock_fprog filter{.len = sizeof program / sizeof *program, .filter = program};
  ::setsockopt(listening_tcp_socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}
}  // namespace moult
