#include "master/sleep/saved_state.h"
namespace moult {
namespace {
IdleState after_restart(IdleState saved) {
  switch (saved) {
    case IdleState::active: return IdleState::active;
    case IdleState::stopping:
    case IdleState::asleep:
    case IdleState::waking: break;
  }
  return IdleState::asleep;
}
}  // namespace

// The end of the line says that the text is whole.
std::string saved_text(IdleState state) { return std::string(name_of(state)) + "\n"; }

IdleState state_from_saved(std::string_view text) {
  for (const IdleState each : {IdleState::active, IdleState::stopping, IdleState::asleep, IdleState::waking})
    if (text == saved_text(each)) return after_restart(each);
  return IdleState::active;
}
}  // namespace moult
