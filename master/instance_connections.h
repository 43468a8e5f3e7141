#pragma once
// The client connections of one instance that no worker has: parked, accepted while the app sleeps or at a stop, and on
// their way to their clients. Its parts, and how they are joined to the others. Made by Instance; decides nothing.
#include <functional>

#include "base/event_loop.h"
#include "master/connections/backlog.h"
#include "master/connections/delivery.h"
#include "master/connections/delivery_at_stop.h"
#include "master/connections/doors.h"
#include "master/connections/sidecar_door.h"
#include "master/connections/sleeping_doors.h"
#include "master/pool/supervisor.h"
#include "master/report/reporting.h"
namespace moult {
struct Config;

class InstanceConnections {
 public:
  struct Others {  // all outlive it
    EventLoop& loop;
    Doors& doors;
    Supervisor& supervisor;
    Reporting& reporting;
  };
  InstanceConnections(const Config&, const Others&);
  InstanceConnections(const InstanceConnections&) = delete;
  InstanceConnections& operator=(const InstanceConnections&) = delete;

  ConnectionKeeper& keeper() { return keeper_; }
  SleepingDoors& sleeping_doors() { return sleeping_doors_; }
  SidecarDoor& sidecar_door() { return sidecar_door_; }
  Delivery& delivery() { return delivery_; }
  DeliveryAtStop& delivery_at_stop() { return delivery_at_stop_; }

  // A stop: whoever waits at the doors is given to the last worker, and then they are closed.
  void close_doors();
  // No worker is left: `gone` is called when no connection is, and every answer has arrived.
  void finish(std::function<void()> gone);

 private:
  ConnectionEvents events();
  void close_all_doors();

  Others others_;
  ConnectionKeeper keeper_;
  Delivery delivery_;
  DeliveryAtStop delivery_at_stop_;
  SleepingDoors sleeping_doors_;
  SidecarDoor sidecar_door_;
  Backlog backlog_;
};
}  // namespace moult
