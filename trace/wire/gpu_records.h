// Records of work that a GPU was given, and of when it was done.
#pragma once

#include <cstdint>

#include "trace/wire/record_header.h"

namespace dcmt::wire {

/// Counts of calls that gave the GPU work while a released storage was alive, so far in this process. The difference of
/// two of these records is what was observed in between.
struct LaunchesRecord {
  RecordHeader header;    ///< aux: 1 if such calls are observed from here on, 0 if they are not
  std::uint64_t calls;    ///< kernels, copies, fills, graphs
  std::uint64_t graphs;   ///< graph launches among the calls; a graph's kernels are not observed
  std::uint64_t nccl;     ///< NCCL's kernels find their buffers through a queue of their own
  std::uint64_t unknown;  ///< calls that could not be checked: unreadable parameters, or watched memory was changing
  std::uint64_t copies;   ///< copies in two or three dimensions, or of many at once
};
static_assert(sizeof(LaunchesRecord) == 64);

/// The last kernel (or copy) before a final release that got an address in the key's storage.
struct LastTouchRecord {
  RecordHeader header;
  std::int64_t graph;
  std::int64_t key;
  std::uint64_t storage;
  std::uint64_t op;       ///< string id of its mangled name
  std::uint64_t touches;  ///< launches since the gather that got an address in the storage, this one included
  std::uint64_t tsc;      ///< of the launch
};
static_assert(sizeof(LastTouchRecord) == 72);

/// What a call to CUDA does with a stream. Calls that give work are recorded before the call, those that end a wait of
/// the host after it.
enum class StreamCall : std::uint32_t {
  kKernel,
  kCopy,
  kFill,
  kGraph,          ///< all kernels of a graph
  kEventRecord,    ///< the event stands for all work that the stream has got so far
  kWaitEvent,      ///< further work of the stream begins after the event
  kEventDone,      ///< the host has observed that the event was reached
  kStreamDone,     ///< the host has observed that the stream finished its work
  kAllDone,        ///< the same of all streams
  kCaptureBegins,  ///< work of the stream becomes part of a graph and does not run
  kCaptureEnds,
};
/// Flag of a StreamCallRecord: the stream and the default stream wait for each other.
inline constexpr std::uint32_t kStreamBlocks = 1u << 8;

/// Under `run --streams`. Addresses of a GPU's memory that the call uses follow, as std::uint64_t.
struct StreamCallRecord {
  RecordHeader header;   ///< aux: StreamCall, and the flag above
  std::uint64_t stream;  ///< CUDA's handle; 0: the default stream
  std::uint64_t event;   ///< CUDA's handle
  std::uint64_t name;    ///< string id: a kernel's mangled name, or the function of a copy
  std::uint64_t stack;
};
static_assert(sizeof(StreamCallRecord) == 56);

/// In a GpuLaunchRecord: the stream is not among the call's parameters.
inline constexpr std::uint64_t kUnknownStream = ~std::uint64_t{0};

/// Under `run --kernels all`.
struct GpuLaunchRecord {
  RecordHeader header;   ///< aux: CUPTI's number of the call, which the items of its work have
  std::uint64_t stream;  ///< CUDA's handle; 0: the default stream
  std::uint64_t stack;
};
static_assert(sizeof(GpuLaunchRecord) == 40);

enum class GpuWorkKind : std::uint32_t { kKernel, kCopyToGpu, kCopyToHost, kCopyOnGpu, kCopyBetweenGpus, kCopy, kFill };

struct GpuWorkItem {
  std::uint64_t start;  ///< on CUPTI's clock, in ns
  std::uint64_t end;
  std::uint64_t name;    ///< string id: a kernel's mangled name; 0: a copy or fill
  std::uint64_t bytes;   ///< of a copy or fill
  std::uint32_t call;    ///< as in the GpuLaunchRecord
  std::uint32_t stream;  ///< CUPTI's number of the stream that it ran on
  std::uint32_t gpu;
  std::uint32_t graph;  ///< not 0: a part of a CUDA graph
  GpuWorkKind kind;
  std::uint32_t reserved;
};
static_assert(sizeof(GpuWorkItem) == 56);

/// Under `run --kernels all`. GpuWorkItems follow.
struct GpuWorkRecord {
  RecordHeader header;  ///< aux: number of items
  std::uint64_t now;    ///< CUPTI's clock at the time of this record
  std::uint64_t lost;   ///< work since the last such record that CUPTI had no memory for
};
static_assert(sizeof(GpuWorkRecord) == 40);

}  // namespace dcmt::wire
