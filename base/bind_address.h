#pragma once
// What -b says, read but not yet opened: HOST:PORT, [v6]:PORT, :PORT, unix:PATH[?mode=0660] and fd://N. Pure. Called by
// config (so that a bad address is an error of usage, exit 2) and by those who build a listener from it.
// gunicorn's spellings hold: an empty host is every IPv4 address, tcp:// in front and unix://PATH are understood.
// Names are not looked up: a name that moves between two starts, or a resolver that hangs, is no business of a
// listener. `localhost` is 127.0.0.1, as gunicorn has it; `*` is 0.0.0.0.
#include <arpa/inet.h>
#include <sys/types.h>
#include <sys/un.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
namespace moult {
struct TcpAddress {
  std::string host;        // numeric; a v6 one without brackets, perhaps with %zone
  std::uint16_t port = 0;  // zero: the kernel chooses
  bool operator==(const TcpAddress&) const = default;
};
struct UnixAddress {
  std::string path;            // as given: a relative one counts from the working directory
  std::optional<mode_t> mode;  // none: the caller's default
  bool operator==(const UnixAddress&) const = default;
};
struct InheritedFd {
  int fd = -1;
  bool operator==(const InheritedFd&) const = default;
};
using BindAddress = std::variant<TcpAddress, UnixAddress, InheritedFd>;

inline constexpr std::size_t unix_path_most_bytes = sizeof(sockaddr_un::sun_path) - 1;

namespace bind_address {
inline Error refused(std::string_view text, const std::string& why) {
  return {"cannot listen on '" + std::string(text) + "': " + why};
}

template <class Number>
std::optional<Number> number(std::string_view digits, int base = 10) {
  Number value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

inline bool numeric(int family, std::string_view host) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(family, std::string(host.substr(0, host.find('%'))).c_str(), bytes) == 1;
}

inline Result<BindAddress> parse_unix(std::string_view text, std::string_view rest) {
  if (rest.starts_with("//")) rest.remove_prefix(2);
  UnixAddress address;
  const auto question = rest.find('?');
  address.path = rest.substr(0, question);
  if (address.path.empty()) return refused(text, "no path is given; write unix:/run/app.sock");
  if (address.path.front() == '@') {
    return refused(text, "an abstract socket has no permissions, so anybody could connect; give a path");
  }
  if (address.path.find('\0') != std::string::npos) return refused(text, "the path has a zero byte in it");
  if (address.path.size() > unix_path_most_bytes) {
    return refused(text, "a unix path has at most " + std::to_string(unix_path_most_bytes) + " bytes, this one has " +
                             std::to_string(address.path.size()));
  }
  if (question == std::string_view::npos) return BindAddress(address);
  const std::string_view query = rest.substr(question + 1);
  if (!query.starts_with("mode=")) return refused(text, "the only thing after ? is mode, as in ?mode=0660");
  const auto mode = number<unsigned>(query.substr(5), 8);
  if (!mode || *mode > 0777) return refused(text, "the mode is octal, 0 to 0777, as in ?mode=0660");
  address.mode = *mode;
  return BindAddress(address);
}

inline Result<BindAddress> parse_fd(std::string_view text, std::string_view digits) {
  const auto fd = number<unsigned short>(digits);
  if (!fd) return refused(text, "fd:// takes the number of an open descriptor, as in fd://3");
  return BindAddress(InheritedFd{*fd});
}

inline std::string without_port(std::string_view text) {
  const std::string given(text);
  if (numeric(AF_INET6, text)) return "an IPv6 address goes in brackets and needs a port: [" + given + "]:8000";
  if (number<std::uint64_t>(text)) return "write 127.0.0.1:" + given + ", or :" + given + " for every IPv4 address";
  if (given.find('/') != std::string::npos) return "a path is written unix:" + given;
  return "no port is given; write " + given + ":8000";
}

inline Result<BindAddress> parse_tcp(std::string_view text, std::string_view rest) {
  const bool bracket = rest.starts_with('[');
  const auto colon = rest.rfind(':');
  const auto close = rest.find(']');
  if (bracket && close == std::string_view::npos) return refused(text, "the ] is missing, as in [::1]:8000");
  if (colon == std::string_view::npos || (bracket && colon != close + 1)) {
    return refused(text, bracket ? "no port is given; write [::1]:8000" : without_port(rest));
  }
  std::string_view host = bracket ? rest.substr(1, close - 1) : rest.substr(0, colon);
  if (!bracket && host.find(':') != std::string_view::npos) return refused(text, without_port(rest));
  const auto port = number<std::uint16_t>(rest.substr(colon + 1));
  if (!port) return refused(text, "the port is a number from 0 to 65535");
  if (!bracket && (host.empty() || host == "*")) host = "0.0.0.0";
  if (!bracket && host == "localhost") host = "127.0.0.1";
  if (!numeric(bracket ? AF_INET6 : AF_INET, host)) {
    return refused(text, bracket ? "what stands in the brackets is no IPv6 address"
                                 : "names are not looked up (but localhost is known); give a numeric address");
  }
  return BindAddress(TcpAddress{std::string(host), *port});
}
}  // namespace bind_address

// Errors are one sentence for a person, and begin with the text as it was given.
inline Result<BindAddress> parse_bind_address(std::string_view text) {
  using namespace bind_address;
  if (text.empty()) return refused(text, "no address is given; write 127.0.0.1:8000 or unix:/run/app.sock");
  if (text.starts_with("unix:")) return parse_unix(text, text.substr(5));
  if (text.starts_with("fd://")) return parse_fd(text, text.substr(5));
  if (text.starts_with("tcp://")) return parse_tcp(text, text.substr(6));
  if (text.find("://") != std::string_view::npos) {
    return refused(text, "write HOST:PORT, unix:PATH or fd://N, without a scheme");
  }
  return parse_tcp(text, text);
}

// As a person writes it; what parse_bind_address() reads gives the same address again (but for the mode).
inline std::string to_text(const BindAddress& address) {
  if (const auto* tcp = std::get_if<TcpAddress>(&address)) {
    const bool six = tcp->host.find(':') != std::string::npos;
    return (six ? "[" + tcp->host + "]" : tcp->host) + ":" + std::to_string(tcp->port);
  }
  if (const auto* file = std::get_if<UnixAddress>(&address)) return "unix:" + file->path;
  return "fd://" + std::to_string(std::get<InheritedFd>(address).fd);
}
}  // namespace moult
