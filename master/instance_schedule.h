#pragma once
// The scheduled calls of this instance, from the config. Called by Instance alone.
#include <memory>

#include "master/instance_options.h"
#include "master/report/schedule_json.h"
#include "master/sleep/caller.h"
namespace moult::options {
// With nothing scheduled it has nothing to do. Where an entry is the fleet's, it claims over a connection of its own to
// the store of `gate`. All that is passed outlives it.
std::unique_ptr<Caller> make_caller(uv_loop_t*, const Config&, const GateOptions& gate, const Doors&, Supervisor&,
                                    Reporting&);
}  // namespace moult::options
