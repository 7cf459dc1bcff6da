// Records of allocators: blocks, segments, and requests that failed.
#pragma once

#include <cstdint>

#include "trace/wire/record_header.h"

namespace dcmt::wire {

/// Devices of a BlockRecord.
inline constexpr std::uint32_t kCpuDevice = 0;
constexpr std::uint32_t cuda_device(std::uint32_t index) { return index + 1; }

struct BlockRecord {
  RecordHeader header;  ///< aux: device as above
  std::uint64_t address;
  std::uint64_t bytes;  ///< CPU: requested; CUDA: of the allocator's block; in a free 0 or kFreeAwaitsStream
  std::uint64_t stack;
};
static_assert(sizeof(BlockRecord) == 48);

/// A block that is allocated while one of autograd's nodes runs. The record stands for the node's kOpBegin, the
/// kBlockAlloc and the kOpEnd, because a step can have hundreds of them.
struct BlockInNodeRecord {
  RecordHeader header;  ///< aux: device as above
  // As in the BlockRecord:
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t stack;
  // As in the OpRecords:
  std::uint64_t name;
  std::uint64_t ordinal;
};
static_assert(sizeof(BlockInNodeRecord) == 64);

/// In a kBlockFree: other streams still use the block. The allocator cannot reuse it before a kBlockFreeDone.
inline constexpr std::uint64_t kFreeAwaitsStream = 1;

/// Bytes of all segments of a CUDA allocator. Only mapped segments count.
struct ReservedRecord {
  RecordHeader header;     ///< aux: device as in BlockRecord
  std::uint64_t reserved;  ///< from here on
  std::uint64_t traced;    ///< 1: every change is recorded when it happens, with streams and waiting frees; 0: changes
                           ///< are recorded at the device's next alloc or free
};
static_assert(sizeof(ReservedRecord) == 40);

/// Which GPU a number of torch stands for: other programs number them in another way.
struct GpuRecord {
  RecordHeader header;    ///< aux: device as in BlockRecord
  std::uint8_t uuid[16];  ///< as CUDA's driver returns it
};
static_assert(sizeof(GpuRecord) == 40);

enum class SegmentEvent : std::uint32_t {
  kBegins,
  kEnds,
  kListed,    ///< reserved when the allocators were asked; by then all changes are observed
  kListEnds,  ///< ends the lists of all devices; no other field of the record counts
};

/// Addresses that a CUDA allocator has reserved: a segment, or a part of an expandable one that is mapped at once.
struct SegmentRecord {
  RecordHeader header;  ///< aux: device as in BlockRecord
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t stream;  ///< CUDA's handle
  std::int64_t pool;     ///< the private pool that it belongs to; 0: none
  SegmentEvent event;
  std::uint32_t expandable;  ///< 1: a part of an expandable segment
};
static_assert(sizeof(SegmentRecord) == 64);

/// How torch's allocator of a GPU was set when its segments were listed.
struct AllocatorRecord {
  RecordHeader header;     ///< aux: device as in BlockRecord
  std::uint64_t settings;  ///< string id: the text of PYTORCH_ALLOC_CONF, as torch has it
  std::uint64_t limit;     ///< the most bytes that it may reserve, by the process's memory fraction; 0: no limit
};
static_assert(sizeof(AllocatorRecord) == 40);

/// What a block of CUDA was asked for. Without such a record, the request had the block's bytes and was for the default
/// stream.
struct BlockRequestRecord {
  RecordHeader header;
  std::uint64_t address;
  std::uint64_t stream;     ///< CUDA's handle
  std::uint64_t requested;  ///< bytes; at most those of the block
};
static_assert(sizeof(BlockRequestRecord) == 48);

/// The sum of a device's blocks below kFollowedBytes, without those that have a kBlockAlloc of their own. It was
/// correct at some time since the last record of a block of this device.
struct SmallBlocksRecord {
  RecordHeader header;  ///< aux: device as in BlockRecord
  std::uint64_t bytes;
};
static_assert(sizeof(SmallBlocksRecord) == 32);

struct BlockOwnerRecord {
  RecordHeader header;
  std::uint64_t address;
  std::uint64_t owner;  ///< string id
};
static_assert(sizeof(BlockOwnerRecord) == 40);

/// The agent asks the allocator for its blocks twice: when the hooks are in place, and when they record. The second
/// answer has the blocks that the first one missed. The first one has the size of blocks that ended in between.
struct FoundBlockRecord {
  RecordHeader header;  ///< aux: device as in BlockRecord, not the CPU
  std::uint64_t address;
  std::uint64_t bytes;      ///< of the allocator's block
  std::uint64_t recording;  ///< 1: from the second answer
  std::uint64_t stack;      ///< stack of the allocation, from the allocator's own history; 0: the history has none
};
static_assert(sizeof(FoundBlockRecord) == 56);

struct BlockFreeDoneRecord {
  RecordHeader header;
  std::uint64_t address;
};
static_assert(sizeof(BlockFreeDoneRecord) == 32);

/// A request that an allocator of torch could not satisfy. The program may catch the error and continue.
struct OutOfMemoryRecord {
  RecordHeader header;      ///< aux: device as in BlockRecord
  std::uint64_t requested;  ///< CUDA: rounded as the allocator does
  std::uint64_t allocated;  ///< torch's own count at this time; 0 for the CPU, where torch has no count
  std::uint64_t reserved;   ///< like `allocated`
  std::uint64_t free;       ///< free bytes of the device, by CUDA; 0 if CUDA returned no figure
  std::uint64_t total;      ///< bytes of the device, by CUDA; 0 if CUDA returned no figure
  std::uint64_t stack;
};
static_assert(sizeof(OutOfMemoryRecord) == 72);

}  // namespace dcmt::wire
