#include "master/report/delivery_reporter.h"

#include "master/report/seconds.h"
namespace moult {
namespace {
std::string clients(std::uint64_t count) { return std::to_string(count) + (count == 1 ? " client" : " clients"); }

std::string why(const FailedClosed& e) {
  if (e.cause == "not_permitted")
    return "they take nothing, and moult may not cut them off: it needs CAP_NET_ADMIN for that";
  if (e.cause == "look_failed") return e.trouble;
  if (e.cause == "maximum") return "twice --linger-timeout is over";
  if (e.cause == "operator") return "it was told to stop once more";
  return e.cause;
}
}  // namespace

std::string in_words(const LingersAborted& e) {
  return clients(e.connections) + " took nothing of the answer for " + seconds_text(e.patience) +
         " (--linger-timeout) and " + (e.connections == 1 ? "was" : "were") + " cut off, before the " + name(e.why);
}

std::string in_words(const FailedClosed& e) {
  const bool stops = e.why == DeliveryWish::before_stop;
  if (e.connections == 0)
    return std::string(stops ? "moult leaves" : "the app stays awake") +
           " and does not know whether all answers have arrived: " + why(e);
  return std::string(stops ? "moult leaves without" : "the app stays awake, for") + " " + clients(e.connections) +
         (stops ? " having received all of the answer: " : " that did not receive all of the answer: ") + why(e);
}

std::string in_words(const StopWaits& e) {
  const bool one = e.connections == 1;
  return clients(e.connections) + (one ? " has" : " have") + " not received all of the answer yet: waiting, at most " +
         seconds_text(e.at_most) +
         " (twice --linger-timeout). Whoever takes nothing for half of that is cut off. To leave " + "without " +
         (one ? "it" : "them") + ", stop once more";
}

void DeliveryReporter::tell(const Event& event) {
  if (events_) events_->write(event, std::chrono::system_clock::now());
}

void DeliveryReporter::stop_waits(const StopWaits& waits) {
  log_.info(in_words(waits));
  service_manager_.stop_takes(waits.at_most);
}

void DeliveryReporter::lingers_aborted(const LingersAborted& aborted) {
  log_.warning(in_words(aborted));
  tell(aborted);
}

void DeliveryReporter::failed_closed(const FailedClosed& failed) {
  log_.warning(in_words(failed));
  tell(failed);
}
}  // namespace moult
