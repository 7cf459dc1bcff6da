// What begins every wire record. Wire records are what the agent publishes into the spool and the recorder reads.
//
// Every record is a plain struct that begins with RecordHeader and is a multiple of 8 bytes long. Agent and recorder
// run on the same machine from the same build, so fields are in host byte order; the spool header carries
// kWireVersion and a recorder refuses any other. These headers are freestanding: no library, no exceptions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dcmt::wire {

/// Of these records and of trace/spool/layout.h; tests/wire_version_test.py says when it has to be another.
inline constexpr std::uint32_t kWireVersion = 4;

enum class RecordType : std::uint16_t {
  kClock = 1,         ///< ClockRecord
  kString,            ///< StringRecord + text
  kCode,              ///< CodeRecord: a Python code object, once per generation
  kStack,             ///< StackRecord + StackFrame[count]: a Python stack, once
  kThread,            ///< ThreadRecord: first record of a thread
  kTensorBirth,       ///< TensorRecord, stamped after the constructor
  kTensorRelease,     ///< TensorRecord, stamped before: no references are left, a weak one keeps the address
  kTensorDeath,       ///< TensorRecord, stamped before the destructor
  kTensorRepoint,     ///< RepointRecord: a tensor changed its storage (set_data)
  kStorageRelease,    ///< StorageRecord, as kTensorRelease
  kStorageDeath,      ///< StorageRecord, stamped before the destructor
  kStorageResize,     ///< ResizeRecord, stamped after
  kBlockAlloc,        ///< BlockRecord, stamped after the allocation
  kBlockFree,         ///< BlockRecord, stamped before the free
  kOpBegin,           ///< OpRecord
  kOpEnd,             ///< OpRecord
  kMarkBegin,         ///< MarkRecord
  kMarkEnd,           ///< MarkRecord
  kMarkPoint,         ///< MarkRecord
  kGather,            ///< KeyRecord, after the operator, role gather
  kWait,              ///< KeyRecord, after the operator
  kPersist,           ///< KeyRecord: the key is persistent from here on
  kReleaseBegin,      ///< KeyRecord, before the release operator's kernel
  kRelease,           ///< KeyRecord, after the release operator's kernel
  kReleaseSettled,    ///< KeyRecord, at the thread's next operator: bytes as they are then
  kRead,              ///< ReadRecord: an operator or a kernel that reads a released storage or tensor has got it
  kCensusBegin,       ///< CensusRecord
  kCensusTensor,      ///< CensusTensorRecord, one per tensor of the sharing set
  kCensusLocal,       ///< CensusLocalRecord, one per Python local that names a tensor of the set
  kCensusEnd,         ///< CensusRecord
  kCodeBody,          ///< CodeBodyRecord + bytes: the parts of a code object that reaching definitions need
  kSourceLine,        ///< SourceLineRecord: a line of a generated file and the model's stack text for it
  kLost,              ///< LostRecord: records for which the spool had no space
  kDiagnostic,        ///< DiagnosticRecord
  kStorageBirth,      ///< StorageRecord, stamped after: only for storages that exist before their first tensor
  kLaunches,          ///< LaunchesRecord: counts of calls that gave the GPU work, so far
  kLastTouch,         ///< LastTouchRecord, in `full`, right before a final kRelease
  kOutOfMemory,       ///< OutOfMemoryRecord, stamped before the error is raised
  kReserved,          ///< ReservedRecord: the bytes that a CUDA allocator has reserved have changed
  kBlockRequest,      ///< BlockRequestRecord, after the kBlockAlloc of a block of CUDA that is not as most are
  kBlockFreeDone,     ///< BlockFreeDoneRecord: the streams that a freed block waited for have finished with it
  kBlockOwner,        ///< BlockOwnerRecord, after the kBlockAlloc of a block that belongs to no tensor
  kParameter,         ///< ParameterRecord, before the first kGather of a key that a Python function gathers
  kOperatorAlias,     ///< OperatorAliasRecord, when a call of a wrapped operator has other aliases than the call before
  kSmallBlocks,       ///< SmallBlocksRecord: in `lifetimes`, before the sum of small blocks is needed
  kBlockAllocInNode,  ///< BlockInNodeRecord, as kBlockAlloc
  kBlockFound,        ///< FoundBlockRecord: a block of a GPU that existed before the process was attached
  kSegment,           ///< SegmentRecord, in `full`: right before the kReserved that it changes
  kGpu,               ///< GpuRecord, once for each GPU, after its first kReserved
  kModule,            ///< ModuleRecord: the thread's next blocks belong to another module than its last one
  kFence,             ///< FenceRecord: what happened to a released storage under `prove`, and what the program computed
  kNativeSample,      ///< NativeSampleRecord, stamped after the allocation
  kNativeEnd,         ///< NativeEndRecord, stamped before the free
  kReference,         ///< ReferenceRecord: a watched reference count
  kNativeStack,       ///< NativeStackRecord + ReturnAddress[count]: a C++ stack, once
  kAllocator,         ///< AllocatorRecord, in `full`: before the first kSegment of each GPU
  kStreamCall,        ///< StreamCallRecord + addresses: work for a stream of a GPU, or what orders it
  kGpuLaunch,         ///< GpuLaunchRecord: a call gives a GPU work, stamped before the call
  kGpuWork,           ///< GpuWorkRecord + GpuWorkItem[count]: work that a GPU has finished
};

/// How many sequences a record of this type uses, beginning with its own: one for each event that it stands for.
constexpr std::uint64_t sequences_of(RecordType type) { return type == RecordType::kBlockAllocInNode ? 3 : 1; }

/// The limit of a record's sequence. With it, all sequences that the record uses fit into rows of a trace.
inline constexpr std::uint64_t kMaxSequence = (std::uint64_t{1} << 63) - 4;

/// Limit of a record's size. A chunk less its header would be possible; the limit keeps pieces small.
inline constexpr std::size_t kMaxRecordBytes = 16 * 1024;

/// The 24 bytes that begin every record.
struct RecordHeader {
  RecordType type;
  std::uint16_t words;  ///< length of the whole record in units of 8 bytes, header included
  std::uint32_t aux;    ///< small field whose meaning depends on the type; 0 if unused
  std::uint64_t seq;    ///< position in the process's total order; starts at 1, dense except for sequences_of()
  std::uint64_t tsc;    ///< cycle counter
};
static_assert(sizeof(RecordHeader) == 24);

}  // namespace dcmt::wire
