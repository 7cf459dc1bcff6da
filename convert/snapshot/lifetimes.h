// Lifetimes of blocks, from the history of a device and the blocks in use when the snapshot was made.
#pragma once

#include <cstdint>
#include <vector>

#include "convert/snapshot/memory_snapshot.h"

namespace dcmt::convert {

/// A point in a device's history: the index of an entry, or one of these values.
inline constexpr std::int64_t kBefore = -1;  ///< before the first entry
inline constexpr std::int64_t kNever = -2;   ///< not up to the snapshot

struct BlockLife {
  std::int64_t address = 0;
  std::int64_t bytes = 0;  ///< requested
  std::int64_t stream = 0;
  std::optional<ValueId> frames, free_frames;
  std::int64_t born = kBefore;  ///< the number of entries means: after the last one
  std::int64_t freed = kNever;  ///< the program freed it
  std::int64_t done = kNever;   ///< no stream used it any more
};

struct DeviceLives {
  std::vector<BlockLife> blocks;  ///< blocks from before the history first, then in the order of their births
  std::int64_t from_before = 0;   ///< number of blocks that were allocated when the history began, and their bytes
  std::int64_t bytes_from_before = 0;
  std::int64_t contradictions = 0;  ///< events that contradict the history or the end
};

/// Counts as torch's viewer does: a block that is freed without a begin, or in use at the end without one, is older.
[[nodiscard]] DeviceLives lives_of(const SnapshotDevice& device);

}  // namespace dcmt::convert
