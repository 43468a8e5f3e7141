#include "lease/gate.h"
namespace moult {
const char* name(Refusal refusal) {
  switch (refusal) {
    case Refusal::lease_held: return "lease_held";
    case Refusal::no_tokens: return "no_tokens";
    case Refusal::below_minimum: return "below_minimum";
    case Refusal::late: return "late";
    case Refusal::store_unreachable: return "store_unreachable";
  }
  return "";
}
}  // namespace moult
