#include "master/launch/fork_server_settings.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>

#include "worker/fork_protocol.h"
namespace moult {
namespace {
using nlohmann::json;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}
}  // namespace

WrittenSettings write_settings(const ForkServerSettings& settings, pid_t master, int first_fd) {
  WrittenSettings written;
  int next_fd = first_fd;
  json listeners = json::array();
  for (const InheritedListener& listener : settings.listeners) {
    written.fds.push_back({listener.fd, next_fd});
    listeners.push_back({{"fd", next_fd}, {"address", listener.address}, {"family", listener.family}});
    ++next_fd;
  }
  const auto door = [&](const std::optional<int>& fd) -> json {
    if (!fd) return nullptr;
    written.fds.push_back({*fd, next_fd});
    return next_fd++;
  };
  const json internal = door(settings.internal_fd), sidecar = door(settings.sidecar_fd);
  const json all{{"version", contract_version},
                 {"release", MOULT_RELEASE},
                 {"master_pid", master},
                 {"app", settings.app},
                 {"preload", settings.preload},
                 {"post_fork", or_null(settings.post_fork)},
                 {"worker_class", settings.worker_class},
                 {"server_options", json(settings.server_options)},
                 {"listeners", listeners},
                 {"internal_fd", internal},
                 {"sidecar_fd", sidecar},
                 {"keep_alive_seconds", seconds(settings.keep_alive)},
                 {"graceful_timeout_seconds", seconds(settings.graceful_timeout)},
                 {"timeout_seconds", seconds(settings.timeout)},
                 {"request_timeout_seconds", seconds(settings.request_timeout)},
                 {"backlog", settings.backlog},
                 {"threads", or_null(settings.threads)},
                 {"log_level", settings.log_level},
                 {"access_logfile", or_null(settings.access_logfile)},
                 {"forwarded_allow_ips", or_null(settings.forwarded_allow_ips)},
                 {"root_path", or_null(settings.root_path)},
                 {"certfile", or_null(settings.certfile)},
                 {"keyfile", or_null(settings.keyfile)},
                 {"idle_ignore", json(settings.idle_ignore)},
                 {"spares", settings.spares}};
  // A name that is no UTF-8 (a path may be any bytes) is written with replacement characters rather than thrown over.
  written.json = all.dump(-1, ' ', false, json::error_handler_t::replace);
  return written;
}

Result<UniqueFd> sealed_memory(const std::string& content) {
  UniqueFd memory(::memfd_create("moult-settings", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return errno_error("memfd_create", errno);
  std::size_t written = 0;
  while (written < content.size()) {
    const ssize_t more = ::write(memory.get(), content.data() + written, content.size() - written);
    if (more < 0 && errno != EINTR) return errno_error("cannot write the settings", errno);
    if (more > 0) written += static_cast<std::size_t>(more);
  }
  if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return errno_error("cannot seal the settings", errno);
  if (::lseek(memory.get(), 0, SEEK_SET) != 0) return errno_error("cannot rewind the settings", errno);
  return memory;
}
}  // namespace moult
