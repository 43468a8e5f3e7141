#include "recycler/saturation.h"

#include <algorithm>
#include <cstdio>

#include "recycler/cooldown.h"
#include "recycler/reason.h"
namespace moult {
namespace {
double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

double per_hour(Duration each) {
  constexpr double shortest_seconds = 0.001;
  return 3600 / std::max(seconds(each), shortest_seconds);
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, value >= 1000 ? "%.0f" : "%.4g", value);
  return text;
}

// "1.2 s", "20 min", "3 h": what an hour's rate means to one worker.
std::string once_in(double seconds) {
  if (seconds < 120) return number(seconds) + " s";
  if (seconds < 7200) return number(seconds / 60) + " min";
  return number(seconds / 3600) + " h";
}

std::string line(const Saturation& s, const GateFigures& gate, unsigned workers) {
  std::string text = std::string(name(s.urgency)) + ": at most " + number(s.per_hour()) +
                     (s.per_hour() == 1 ? " recycle an hour (" : " recycles an hour (");
  for (const auto& bound : s.bounds)
    text += std::string(&bound == s.bounds.data() ? "" : ", ") + bound.by + " " + number(bound.per_hour);
  text += ")";
  if (s.urgency == Urgency::routine && gate.tokens_per_hour > 0)
    text += " after a burst of " + std::to_string(gate.burst);
  if (s.urgency != Urgency::routine && gate.tokens_per_hour > 0)
    text += ", beyond " + number(gate.tokens_per_hour) + " an hour and " + std::to_string(2 * gate.burst) +
            " at once they go ungated and are paid back";
  text += "; each of " + std::string(gate.is_shared ? "its own " : "") + std::to_string(workers) + " workers once in " +
          once_in(workers / s.per_hour() * 3600) + "; one alone waits at most " + number(seconds(s.longest_hold)) +
          " s";
  if (s.urgency == Urgency::routine && gate.tokens_per_hour > 0) text += " while the budget lasts";
  if (gate.is_shared) text += "; of the fleet's workers this instance's alone are counted here";
  return text;
}
}  // namespace

// The lease and the bucket bind routine recycles; an urgent one goes ahead without them, after its wait.
Saturation saturation(Urgency urgency, const RecyclePolicy& policy, const GateFigures& gate,
                      Duration replacement_time) {
  const bool routine = urgency == Urgency::routine;
  const Duration cooldown = policy.rules(urgency).cooldown;
  Saturation result{urgency, {{"cooldown", per_hour(cooldown)}}, longest_hold(policy, urgency)};
  if (routine) {
    result.bounds.push_back({"lease", gate.permits * per_hour(replacement_time)});
    if (gate.tokens_per_hour > 0) result.bounds.push_back({"bucket", gate.tokens_per_hour});
  } else {
    result.longest_hold += gate.longest_ungated_wait;
  }
  std::ranges::stable_sort(result.bounds, {}, &Saturation::Bound::per_hour);
  return result;
}

std::vector<std::string> saturation_lines(const RecyclePolicy& policy, const GateFigures& gate,
                                          Duration replacement_time, unsigned workers) {
  std::vector<std::string> lines;
  for (const Urgency urgency : {Urgency::routine, Urgency::hard_limit, Urgency::pressure})
    lines.push_back(line(saturation(urgency, policy, gate, replacement_time), gate, workers));
  return lines;
}
}  // namespace moult
