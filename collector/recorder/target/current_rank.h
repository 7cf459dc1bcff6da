// The rank that a process has given itself after its start, such as a worker of Ray Train.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace dcmt::recorder {

struct CurrentRank {
  std::int32_t rank = -1;
  std::int32_t world_size = -1;  ///< -1 if it is not set
};

/// From RANK (else LOCAL_RANK and NODE_RANK) and WORLD_SIZE in the process's environment as it is now, read in its
/// memory; /proc has only the one that it was started with. nullopt if there is no RANK, or the process cannot be read.
std::optional<CurrentRank> current_rank(pid_t pid);

}  // namespace dcmt::recorder
