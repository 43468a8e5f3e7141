#pragma once
// All sockets on which somebody may come: the public listeners, the sidecar's door and the internal one. Opened by
// Instance before anything is launched; children get copies.
#include <optional>
#include <string>

#include "base/result.h"
#include "master/connections/internal_door.h"
#include "master/connections/listeners.h"
namespace moult {
struct Doors {
  Listeners listeners;
  std::optional<ListeningSocket> sidecar;  // what comes through it is no activity; none: no --sidecar-bind
  InternalDoor internal;

  // `private_folder`: where the internal door is made, for the moment that it needs a file.
  static Result<Doors> open(const ListenerOptions& options, const std::string& private_folder) {
    auto listeners = Listeners::open(options);
    if (!listeners) return listeners.error();
    std::optional<ListeningSocket> sidecar;
    if (options.sidecar) {
      ListenerOptions like_them = options;
      like_them.socket.flag = "--sidecar-bind";
      auto opened = open_listening_socket(*options.sidecar, like_them);
      if (!opened) return opened.error();
      sidecar = std::move(*opened);
    }
    auto internal = InternalDoor::open(private_folder);
    if (!internal) return internal.error();
    return Doors{std::move(*listeners), std::move(sidecar), std::move(*internal)};
  }
  int sidecar_fd() const { return sidecar ? sidecar->fd() : -1; }
  // Nobody new comes in; who waits can still be accepted.
  void shut() {
    listeners.shut();
    if (sidecar) sidecar->shut();
  }
  void close() {
    listeners.close_all();
    sidecar.reset();
    internal.close();
  }
};
}  // namespace moult
