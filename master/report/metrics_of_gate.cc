// The budget: what it has, and what it said.
#include "master/report/measured_metrics.h"
namespace moult {
namespace {
prometheus::MetricFamily refusals(const GateDescription& gate) {
  auto all = counters("moult_gate_refusals_total", "Times that the budget said no.");
  for (std::size_t i = 0; i < gate.refusals.size(); ++i)
    add(all, static_cast<double>(gate.refusals[i]), {{"reason", name(static_cast<Refusal>(i))}});
  return all;
}

prometheus::MetricFamily answer_times(const AnswerTimes& times) {
  return histogram("moult_gate_answer_seconds", "From a question to the budget until its answer, whatever that was.",
                   AnswerTimes::bounds_seconds, times.counts, std::chrono::duration<double>(times.sum).count());
}
}  // namespace

void add_gate(MetricFamilies& all, const GateDescription& gate) {
  all.push_back(gauge("moult_gate_tokens", "Replacements that the budget affords now; below zero: debt.", gate.tokens));
  all.push_back(
      gauge("moult_gate_reachable", "0 while the fleet's store does not answer or refuses.", gate.trouble.empty()));
  all.push_back(gauge("moult_gate_owed", "Ungated replacements that the store has not yet been told of.",
                      static_cast<double>(gate.owed)));
  all.push_back(
      counter("moult_gate_grants_total", "Times that the budget said yes.", static_cast<double>(gate.granted)));
  all.push_back(refusals(gate));
  all.push_back(answer_times(gate.answer_times));
  all.push_back(counter("moult_gate_leases_lost_total",
                        "Leases that had ended while the worker was still being replaced.",
                        static_cast<double>(gate.leases_lost)));
}
}  // namespace moult
