// W ranks in one process, a thread each, of which one runs at a time: from one collective to the next, rank 0 first.
#pragma once

#include <cstdint>
#include <memory>

#include "executor/errors.h"
#include "executor/world.h"

namespace dcmt::zero3 {

constexpr int kMostSimulatedRanks = 64;

/// Joins the calling thread to the simulated world `number` as `rank`; the first to come makes it. Waits until all
/// ranks have come and it is this rank's turn. Throws if the world has another size, the rank is taken, or the others
/// do not come within a minute.
std::shared_ptr<World> join_simulated_world(std::int64_t number, int rank, int size, const Place& place);

}  // namespace dcmt::zero3
