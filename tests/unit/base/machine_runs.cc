// On a real loop: the timer fires at the core's deadlines, an event posted by an action waits its turn, and a
// machine destroyed with its timer armed leaves neither a handle nor a byte behind (run it under ASan).
#include <cstdio>
#include <memory>
#include <variant>
#include "base/machine.h"
using namespace moult;
using namespace std::chrono_literals;
namespace {
struct Metronome {
  int ticks = 0;
  int echoes = 0;
  MonotonicTime next{};
};
struct Echo {};
struct Ticked {};
using MetronomeEvent = std::variant<TimePassed, Echo>;
struct MetronomePolicy {
  Duration every;
};

Step<Metronome, Ticked> transition(Metronome m, const MetronomeEvent& event, const MetronomePolicy& policy,
                                   MonotonicTime now) {
  if (std::holds_alternative<Echo>(event)) {
    ++m.echoes;
    return {m, {}};
  }
  if (now < m.next) return {m, {}};
  ++m.ticks;
  m.next = now + policy.every;
  return {m, {Ticked{}}};
}
MonotonicTime next_deadline(const Metronome& m, MonotonicTime) { return m.next; }
}  // namespace

int main() {
  using Runner = Machine<Metronome, MetronomeEvent, Ticked, MetronomePolicy>;
  uv_loop_t loop;
  uv_loop_init(&loop);
  const MetronomePolicy policy{5ms};
  std::unique_ptr<Runner> machine;
  int echoes_inside = 0;
  machine = std::make_unique<Runner>(&loop, Metronome{}, policy, [&](const Ticked&) {
    machine->post(Echo{});
    echoes_inside += machine->state().echoes == machine->state().ticks;  // handled inside the action: must not be
  });
  machine->post(TimePassed{});
  while (machine->state().ticks < 5) uv_run(&loop, UV_RUN_ONCE);
  const bool echoed = machine->state().echoes == 5 && echoes_inside == 0;
  machine.reset();  // armed
  uv_run(&loop, UV_RUN_DEFAULT);
  const bool closed = uv_loop_close(&loop) == 0;
  std::printf("5 ticks, events in turn: %s, loop closed: %s\n", echoed ? "yes" : "NO", closed ? "yes" : "NO");
  return echoed && closed ? 0 : 1;
}
