#pragma once
// Questions about a pool, and the two hands that reconcile and turns share. Pure.
#include "master/pool/pool.h"
namespace moult {
unsigned target(const Pool&);  // slots 0 .. target-1 are wanted
bool wanted(const Pool&, const Worker&);
bool forkable(const Pool&, Generation);
bool launchable(const Pool&, Generation);                // forkable, or one of its spares waits
bool spare_waits(const Pool&, Generation);               // started, and without a slot
bool may_be_rejected(const Pool&);                       // the candidate; with nothing to go back to moult ends by it
bool on_trial(const Pool&);                              // a candidate that never served, and can be launched
Generation refill_generation(const Pool&);               // proven code, while it can be had
Generation slot_generation(const Pool&, unsigned slot);  // what an empty slot gets
Generation spare_generation(const Pool&);                // what a spare is made of
bool another_serves(const Pool&, unsigned slot);         // another wanted slot
bool others_follow(const Pool&);                         // who retires now is not the last one that serves
void begin_drain(Goal&, const PoolPolicy&, MonotonicTime now);
bool announces_close(const Pool&);  // a graceful stop has begun: answers end their connections
Rank recycle_rank(const Worker&);   // none: it is not to go
Worker* find(Pool&, WorkerId);
const Worker* find(const Pool&, WorkerId);
Worker* in_slot(Pool&, unsigned slot, WorkerState, WorkerId except = {});
Turn* turn_of(Pool&, unsigned slot);

void apply(Worker&, const WorkerEvent&, const PoolPolicy&, MonotonicTime now, std::vector<PoolAction>&);
void fork_worker(Pool&, std::optional<unsigned> slot, Generation, const PoolPolicy&, MonotonicTime now,
                 std::vector<PoolAction>&);
void launch(Pool&, unsigned slot, Generation, const PoolPolicy&, MonotonicTime now,
            std::vector<PoolAction>&);  // a spare if one waits
}  // namespace moult
