// W ranks in one process, a thread each. Only one rank runs at a time, from one collective to the next, rank 0 first.
#pragma once

#include <cstdint>
#include <memory>

#include "executor/errors.h"
#include "executor/world.h"

namespace dcmt::zero3 {

constexpr int kMostSimulatedRanks = 64;

/// Joins the calling thread to the simulated world `number` as `rank`; the first caller makes the world. Waits until
/// all ranks have joined and it is this rank's turn. Throws if the world has another size, if the rank has joined
/// already, or if the others do not join within a minute.
std::shared_ptr<World> join_simulated_world(std::int64_t number, int rank, int size, const Place& place);

}  // namespace dcmt::zero3
