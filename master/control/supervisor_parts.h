#pragma once
// The half of the Operator's parts that is the pool's. Called by Instance; the Supervisor must outlive the Operator.
#include "master/control/operator.h"
namespace moult {
OperatorParts supervisor_parts(Supervisor&);
}  // namespace moult
