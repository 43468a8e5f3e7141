#pragma once
// Says what becomes of answers that are on their way before a sleep and at a stop: log lines for people, events for
// machines, and for the service manager that the stop takes longer. Owned by Reporting, called by Delivery and
// DeliveryAtStop on the loop's thread. Decides nothing.
#include "master/connections/delivery_observer.h"
#include "master/report/event.h"
#include "master/report/log.h"
#include "master/report/service_manager.h"
namespace moult {
class DeliveryReporter : public DeliveryObserver {
 public:
  // All outlive it. `events` null: nobody listens.
  DeliveryReporter(Log& log, EventSink* events, ServiceManager& service_manager)
      : log_(log), events_(events), service_manager_(service_manager) {}

  void lingers_aborted(const LingersAborted&) override;
  void failed_closed(const FailedClosed&) override;
  void stop_waits(const StopWaits&) override;

 private:
  void tell(const Event&);
  Log& log_;
  EventSink* events_;
  ServiceManager& service_manager_;
};

// "3 connections, which took nothing for 300 s, were cut off before the stop": for the log, without what to do.
std::string in_words(const LingersAborted&);
std::string in_words(const FailedClosed&);
std::string in_words(const StopWaits&);
}  // namespace moult
