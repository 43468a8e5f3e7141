#include "lease/redis_url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <optional>

#include "base/control_path.h"
namespace moult {
namespace {
constexpr const char* encoded = "; in a name or a password '/' is written %2F, '?' %3F, '#' %23, '@' %40, '%' %25";

// Never with a piece of the text: what is wrong may be a part of a password.
Error refused(const std::string& what) { return Error{"the store's URL: " + what}; }

struct Parts {
  RedisAddress::Kind kind;
  std::string_view login, host, path, query;
  bool has_login = false;
};

Result<Parts> split(std::string_view text) {
  static constexpr std::pair<std::string_view, RedisAddress::Kind> schemes[] = {
      {"redis://", RedisAddress::Kind::tcp},
      {"rediss://", RedisAddress::Kind::tls},
      {"redis+unix://", RedisAddress::Kind::unix_socket}};
  if (text.size() > longest_redis_url_bytes)
    return refused("it has " + std::to_string(text.size()) + " bytes and may have " +
                   std::to_string(longest_redis_url_bytes));
  const auto* scheme = std::ranges::find_if(schemes, [&](const auto& each) { return text.starts_with(each.first); });
  if (scheme == std::end(schemes)) return refused("it begins with redis://, rediss:// or redis+unix://");
  text.remove_prefix(scheme->first.size());
  if (text.find('#') != std::string_view::npos) return refused(std::string("there is a '#' in it") + encoded);
  Parts parts{scheme->second, {}, {}, {}, {}};
  if (const auto mark = text.find('?'); mark != std::string_view::npos) {
    parts.query = text.substr(mark + 1);
    text = text.substr(0, mark);
  }
  const auto slash = std::min(text.find('/'), text.size());
  parts.path = text.substr(slash);
  parts.host = text.substr(0, slash);
  if (const auto at = parts.host.rfind('@'); at != std::string_view::npos) {
    parts.login = parts.host.substr(0, at);
    parts.host.remove_prefix(at + 1);
    parts.has_login = true;
  }
  return parts;
}

std::optional<unsigned> hex(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return std::nullopt;
}

Result<std::string> decoded(std::string_view text, const std::string& part) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    const auto high = at + 2 < text.size() ? hex(text[at + 1]) : std::nullopt;
    const auto low = at + 2 < text.size() ? hex(text[at + 2]) : std::nullopt;
    if (!high || !low) return refused(part + ": after a '%' come two hexadecimal digits" + encoded);
    out += static_cast<char>(*high << 4 | *low);
    at += 2;
  }
  if (out.find('\0') != std::string::npos) return refused(part + " contains a zero byte");
  return out;
}

template <class Number>
std::optional<Number> number(std::string_view text, Number least, Number most) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) return std::nullopt;
  return value;
}

Result<void> read_login(std::string_view text, RedisAddress& to) {
  const auto colon = std::min(text.find(':'), text.size());
  auto user = decoded(text.substr(0, colon), "the user");
  if (!user) return user.error();
  to.user = *std::move(user);
  if (colon == text.size()) return {};
  auto password = decoded(text.substr(colon + 1), "the password");
  if (!password) return password.error();
  if (password->empty()) return refused("there is a ':' after the user, but no password");
  to.password = *std::move(password);
  return {};
}

bool numeric(int family, const std::string& host) {
  unsigned char address[sizeof(in6_addr)];
  return ::inet_pton(family, host.c_str(), address) == 1;
}

bool host_name(std::string_view host) {
  constexpr std::size_t longest_host_name = 253;  // RFC 1035
  return !host.empty() && host.size() <= longest_host_name && host.front() != '-' && host.front() != '.' &&
         std::ranges::all_of(host, [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '-' || c == '_'; });
}

Result<void> read_host(std::string_view text, RedisAddress& to) {
  const bool bracket = text.starts_with('[');
  const auto close = bracket ? text.find(']') : 0;
  if (close == std::string_view::npos) return refused("the ']' after the IPv6 address is missing, as in [::1]:6379");
  const auto colon = text.find(':', close);
  to.host = bracket ? text.substr(1, close - 1) : text.substr(0, colon);
  if (bracket && colon != close + 1 && close + 1 != text.size())
    return refused("after the ']' of the host comes :PORT, as in [::1]:6379");
  if (!bracket && text.rfind(':') != colon)
    return refused(std::string("the host: an IPv6 address stands in brackets, as in [::1]:6379") + encoded);
  if (to.host.empty()) return refused("the host is missing, as in redis://127.0.0.1:6379");
  if (bracket && !numeric(AF_INET6, to.host))
    return refused("the host: what stands in the brackets is no IPv6 address");
  if (!bracket && !host_name(to.host)) return refused(std::string("the host is no name and no address") + encoded);
  if (colon == std::string_view::npos) return {};
  const auto port = number<std::uint16_t>(text.substr(colon + 1), 1, 65535);
  if (!port) return refused(std::string("the port is a number from 1 to 65535") + encoded);
  to.port = *port;
  return {};
}

Result<void> read_database(std::string_view text, RedisAddress& to) {
  const auto database = number<unsigned>(text, 0, most_redis_databases - 1);
  if (!database)
    return refused("the database is a number from 0 to " + std::to_string(most_redis_databases - 1) + encoded);
  to.database = *database;
  return {};
}

Result<void> read_option(std::string_view option, RedisAddress& to) {
  const auto equals = std::min(option.find('='), option.size());
  const std::string_view key = option.substr(0, equals);
  const std::string_view value = option.substr(std::min(equals + 1, option.size()));
  if (key == "db" && to.kind == RedisAddress::Kind::unix_socket) return read_database(value, to);
  if (key == "db") return refused("the database stands after the host here, as in redis://127.0.0.1/1");
  if (key != "password-file")
    return refused(std::string("after the '?' comes password-file=PATH, or db=N for redis+unix") + encoded);
  auto path = decoded(value, "the password-file");
  if (!path) return path.error();
  if (!path->starts_with('/')) return refused("the password-file is an absolute path");
  if (!to.password.empty()) return refused("a password and a password-file are given: one of them is enough");
  to.password_file = *std::move(path);
  return {};
}

Result<void> read_place(const Parts& parts, RedisAddress& to) {
  if (parts.kind != RedisAddress::Kind::unix_socket) {
    to.port = default_redis_port;
    if (auto host = read_host(parts.host, to); !host) return host;
    return parts.path.size() > 1 ? read_database(parts.path.substr(1), to) : Result<void>();
  }
  if (!parts.host.empty() || parts.path.size() < 2)
    return refused("the socket is an absolute path, as in redis+unix:///run/redis/redis.sock");
  auto path = decoded(parts.path, "the socket's path");
  if (!path) return path.error();
  if (path->size() > longest_socket_path_bytes)
    return refused("the socket's path has " + std::to_string(path->size()) + " bytes and may have " +
                   std::to_string(longest_socket_path_bytes));
  to.path = *std::move(path);
  return {};
}
// Of what stands between the parts of a URL only '/', and that only in paths.
std::string in_url(const std::string& text, bool path) {
  std::string out;
  for (const char c : text) {
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_' || c == '~';
    out += plain || (path && c == '/') ? std::string(1, c) : code;
  }
  return out;
}
}  // namespace

Result<RedisAddress> parse_redis_url(std::string_view text) {
  const auto parts = split(text);
  if (!parts) return parts.error();
  RedisAddress address;
  address.kind = parts->kind;
  if (const auto place = read_place(*parts, address); !place) return place.error();
  if (parts->has_login)
    if (const auto login = read_login(parts->login, address); !login) return login.error();
  for (std::string_view rest = parts->query; !rest.empty();) {
    const auto end = std::min(rest.find('&'), rest.size());
    if (const auto option = read_option(rest.substr(0, end), address); !option) return option.error();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return address;
}

std::string printable(const RedisAddress& address) {
  const std::string user = address.user.empty() ? "" : in_url(address.user, false) + "@";
  const std::string database = std::to_string(address.database);
  if (address.kind == RedisAddress::Kind::unix_socket)
    return "redis+unix://" + user + in_url(address.path, true) + (address.database ? "?db=" + database : "");
  const bool six = address.host.find(':') != std::string::npos;
  return (address.kind == RedisAddress::Kind::tls ? "rediss://" : "redis://") + user +
         (six ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port) +
         (address.database ? "/" + database : "");
}

std::string without_password(const RedisAddress& address) {
  const std::string url = printable(address);
  if (address.password_file.empty()) return url;
  return url + (url.find('?') == std::string::npos ? "?" : "&") +
         "password-file=" + in_url(address.password_file, true);
}
}  // namespace moult
