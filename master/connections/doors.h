#pragma once
// All sockets on which somebody may come: the public listeners and the internal door. Opened by Instance before
// anything is launched; children get copies.
#include <string>

#include "base/result.h"
#include "master/connections/internal_door.h"
#include "master/connections/listeners.h"
namespace moult {
struct Doors {
  Listeners listeners;
  InternalDoor internal;

  // `private_folder`: where the internal door is made, for the moment that it needs a file.
  static Result<Doors> open(const ListenerOptions& options, const std::string& private_folder) {
    auto listeners = Listeners::open(options);
    if (!listeners) return listeners.error();
    auto internal = InternalDoor::open(private_folder);
    if (!internal) return internal.error();
    return Doors{std::move(*listeners), std::move(*internal)};
  }
  void close() {
    listeners.close_all();
    internal.close();
  }
};
}  // namespace moult
