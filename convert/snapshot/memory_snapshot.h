// The contents of a memory snapshot of torch (torch.cuda.memory._snapshot), read from its pickle and checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/pickle/value.h"
#include "trace/base/status.h"

namespace dcmt::convert {

enum class Action : std::uint8_t {
  kAlloc,
  kFreeRequested,
  kFreeCompleted,
  kSegmentAlloc,
  kSegmentFree,
  kSegmentMap,    ///< a part of an expandable segment
  kSegmentUnmap,  ///< a part of an expandable segment
  kOutOfMemory,
  kOther,
};

/// One entry of a device's history. Addresses are numbers; sizes are bytes as requested.
struct Entry {
  Action action = Action::kOther;
  std::int64_t address = 0;  ///< for an out-of-memory error: bytes that the device had left
  std::int64_t size = 0;
  std::int64_t stream = 0;   ///< CUDA's handle; 0: the default stream
  std::int64_t time_us = 0;  ///< wall clock; 0: unknown
  std::optional<ValueId> frames;
};

enum class BlockState : std::uint8_t { kAllocated, kPendingFree };

/// A block that is in use when the snapshot is made.
struct SnapshotBlock {
  std::int64_t address = 0;
  std::int64_t bytes = 0;    ///< requested
  std::int64_t rounded = 0;  ///< bytes that the allocator used for it
  BlockState state = BlockState::kAllocated;
  std::int64_t stream = 0;
  std::optional<ValueId> frames;
};

/// A segment that exists when the snapshot is made; for an expandable one, a mapped part.
struct SnapshotSegment {
  std::int64_t address = 0;
  std::int64_t bytes = 0;
  std::int64_t stream = 0;
  bool expandable = false;
};

/// The contents of the snapshot for one device.
struct SnapshotDevice {
  std::vector<Entry> history;  ///< in order; the ring buffer may have dropped older entries
  std::vector<SnapshotBlock> blocks;
  std::vector<SnapshotSegment> segments;
  std::int64_t reserved = 0;  ///< sum of the segments
  [[nodiscard]] bool used() const { return !history.empty() || !segments.empty(); }
};

/// A range of the program, recorded by RecordFunction.
struct Annotation {
  std::string_view name;
  bool start = false;
  std::int64_t time_us = 0;
};

struct SnapshotFrame {
  std::string_view file, function;
  std::int64_t line = 0;

  [[nodiscard]] bool is_python() const { return file.ends_with(".py") || file.starts_with('<'); }
};

struct MemorySnapshot {
  PickleData data;  ///< the other members point into it
  std::vector<SnapshotDevice> devices;
  std::vector<Annotation> annotations;

  /// Innermost first.
  [[nodiscard]] std::vector<SnapshotFrame> frames(ValueId frames) const;
};

/// Fails with kBadInput if the pickle contains no snapshot, or an invalid one.
/// @param name  of the file, as messages print it
Expected<MemorySnapshot> snapshot_of(PickleData data, const std::string& name);

/// Reads the file and then the snapshot.
Expected<MemorySnapshot> read_snapshot(const std::string& path);

/// True if a file begins like a pickle; false if it cannot be read.
[[nodiscard]] bool is_pickle(const std::string& path);

}  // namespace dcmt::convert
