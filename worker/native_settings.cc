#include "worker/native_settings.h"

#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "worker/fork_protocol.h"
namespace moult {
namespace {
using nlohmann::json;

Result<std::string> read_all(int fd) {
  std::string text(max_settings_bytes + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t more = ::pread(fd, text.data() + length, text.size() - length, static_cast<off_t>(length));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return errno_error("cannot read the settings", errno);
    if (more == 0) break;
    length += static_cast<std::size_t>(more);
  }
  if (length > max_settings_bytes) return Error{"the settings are longer than 1 MiB"};
  text.resize(length);
  return text;
}

std::string as_text(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

WorkerSettings worker_settings(const json& object) {
  WorkerSettings settings;
  for (const json& listener : object.at("listeners"))
    settings.listeners.push_back({listener.at("fd").get<int>(), listener.at("address").get<std::string>(),
                                  listener.at("family").get<std::string>()});
  if (object.contains("internal_fd") && !object["internal_fd"].is_null())
    settings.internal_fd = object["internal_fd"].get<int>();
  if (object.contains("sidecar_fd") && !object["sidecar_fd"].is_null())
    settings.sidecar_fd = object["sidecar_fd"].get<int>();
  const json options = object.value("server_options", json::object());
  for (const auto& [name, value] : options.items()) settings.server_options[name] = as_text(value);
  settings.idle_ignore = object.value("idle_ignore", std::vector<std::string>());
  for (const auto& [name, value] : object.items())
    if (value.is_primitive() && !value.is_null()) settings.settings[name] = as_text(value);
  return settings;
}

NativeSettings understood(const json& object) {
  NativeSettings settings;
  settings.master_pid = object.at("master_pid").get<pid_t>();
  settings.app = object.at("app").get<std::string>();
  const auto preload = object.value("preload", "on");
  if (preload == "strict") settings.preload = NativeSettings::Preload::strict;
  if (preload == "off") settings.preload = NativeSettings::Preload::off;
  settings.worker = worker_settings(object);
  return settings;
}
}  // namespace

Result<NativeSettings> read_native_settings(int fd) {
  const auto text = read_all(fd);
  if (!text) return text.error();
  try {
    const json object = json::parse(*text);
    if (object.at("version").get<std::uint64_t>() != contract_version)
      return Error{"the settings are of version " + object.at("version").dump() + ", this fork server speaks version " +
                   std::to_string(contract_version) + ": master and fork server are of different versions of moult"};
    if (object.contains("post_fork") && !object["post_fork"].is_null())
      return Error{"--post-fork names a Python function: a native app does such things in moult_worker_main"};
    return understood(object);
  } catch (const json::exception& problem) {
    return Error{std::string("the settings are not understood: ") + problem.what()};
  }
}
}  // namespace moult
