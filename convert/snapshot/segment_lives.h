// Lifetimes of segments, from the history of a device and from the segments that were there when the snapshot was made.
#pragma once

#include <cstdint>
#include <vector>

#include "convert/snapshot/lifetimes.h"
#include "convert/snapshot/memory_snapshot.h"

namespace dcmt::convert {

/// Addresses that the allocator had reserved together, and gave back together. Of an expandable segment it is a part
/// that was mapped at once: of one that was unmapped in part, each part is a life of its own.
struct SegmentLife {
  std::int64_t address = 0;
  std::int64_t bytes = 0;
  std::int64_t stream = 0;
  bool expandable = false;
  std::int64_t born = kBefore;  ///< the number of entries: after the last one
  std::int64_t freed = kNever;
};

struct SegmentLives {
  std::vector<SegmentLife> segments;  ///< in the order of their births
  std::int64_t contradictions = 0;    ///< what the history and the end do not agree on
};

/// At no point do two of them share an address, and at the end they are the segments of the snapshot.
[[nodiscard]] SegmentLives segment_lives_of(const SnapshotDevice& device);

}  // namespace dcmt::convert
