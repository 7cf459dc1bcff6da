// Wire records: what the agent publishes into the spool and the recorder reads.
//
// Every record is a plain struct that begins with RecordHeader and is a multiple of 8 bytes long. Agent and recorder
// run on the same machine from the same build, so fields are in host byte order; the spool header carries
// kWireVersion and a recorder refuses any other. This header is freestanding: no library, no exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

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

/// The 24 bytes that begin every record.
struct RecordHeader {
  RecordType type;
  std::uint16_t words;  ///< length of the whole record in units of 8 bytes, header included
  std::uint32_t aux;    ///< small field whose meaning depends on the type; 0 if unused
  std::uint64_t seq;    ///< position in the process's total order; starts at 1, dense except for sequences_of()
  std::uint64_t tsc;    ///< cycle counter
};
static_assert(sizeof(RecordHeader) == 24);

/// Three clocks, read at one time. From these triples the recorder fits tsc → monotonic nanoseconds.
struct ClockRecord {
  RecordHeader header;  ///< header.tsc is the cycle counter of the triple
  std::uint64_t monotonic_ns;
  std::uint64_t real_ns;
};
static_assert(sizeof(ClockRecord) == 40);

/// Text, once per content. `id` is a 64-bit hash of the text; `bytes` of text follow, padded with zeros to 8.
struct StringRecord {
  RecordHeader header;
  std::uint64_t id;
  std::uint64_t bytes;
};
static_assert(sizeof(StringRecord) == 40);

/// A Python code object. `id` is unique per (address, generation).
struct CodeRecord {
  RecordHeader header;  ///< aux: first line
  std::uint64_t id;
  std::uint64_t file;      ///< string id of co_filename
  std::uint64_t function;  ///< string id of co_qualname
};
static_assert(sizeof(CodeRecord) == 48);

struct StackFrame {
  std::uint64_t code;   ///< CodeRecord id
  std::int32_t offset;  ///< byte offset of the current instruction
  std::int32_t line;    ///< 0 if unknown
};
static_assert(sizeof(StackFrame) == 16);

/// A Python stack, innermost frame first; `count` StackFrames follow.
struct StackRecord {
  RecordHeader header;  ///< aux: 1 if frames beyond the limit were dropped
  std::uint64_t id;     ///< 64-bit hash of the frames
  std::uint64_t count;
};
static_assert(sizeof(StackRecord) == 40);

/// The first record of a thread. The chunk header has the number of the thread that a record belongs to.
struct ThreadRecord {
  RecordHeader header;  ///< aux: the agent's thread number
  std::uint64_t tid;
  char name[16];
};
static_assert(sizeof(ThreadRecord) == 48);

/// A tensor object and the storage it refers to (both addresses). `storage` 0: none.
struct TensorRecord {
  RecordHeader header;
  std::uint64_t tensor;
  std::uint64_t storage;
  std::uint64_t data;   ///< data pointer of the storage, 0 if none
  std::uint64_t bytes;  ///< bytes of the storage
  std::uint64_t stack;  ///< StackRecord id or 0
};
static_assert(sizeof(TensorRecord) == 64);

struct RepointRecord {
  RecordHeader header;
  std::uint64_t tensor;
  std::uint64_t old_storage;
  std::uint64_t storage;
  std::uint64_t data;
  std::uint64_t bytes;
  std::uint64_t stack;
};
static_assert(sizeof(RepointRecord) == 72);

struct StorageRecord {
  RecordHeader header;  ///< aux: operators begun on this thread so far (its low 32 bits)
  std::uint64_t storage;
  std::uint64_t data;
  std::uint64_t bytes;
  std::uint64_t stack;
};
static_assert(sizeof(StorageRecord) == 56);

struct ResizeRecord {
  RecordHeader header;
  std::uint64_t storage;
  std::uint64_t old_bytes;
  std::uint64_t bytes;
  std::uint64_t data;
  std::uint64_t stack;
};
static_assert(sizeof(ResizeRecord) == 64);

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

/// From here on, the thread allocates for this torch.nn.Module.
struct ModuleRecord {
  RecordHeader header;
  std::uint64_t module;     ///< address of the module whose call is the innermost one; 0: none
  std::uint64_t node;       ///< 1 + the number of autograd's node that runs, outside of such calls; 0: none
  std::uint64_t from_node;  ///< nodes that the thread has made since its last block have this number or a higher one
};
static_assert(sizeof(ModuleRecord) == 48);

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

enum class OpScope : std::uint32_t { kFunction = 0, kBackward = 1, kUser = 2 };

/// An operator's begin or end on its thread. A begin may be written late, but before the first record made inside the
/// operator. Below detail `operators`, operators that make no record may be left out. `ordinal` counts all observed
/// operators. Below that detail, only autograd's nodes, its engine and the scopes of users are observed until the first
/// gather.
struct OpRecord {
  RecordHeader header;    ///< aux: OpScope
  std::uint64_t name;     ///< string id; in an end 0
  std::uint64_t ordinal;  ///< the thread's operator number, starts at 1; same in begin and end
};
static_assert(sizeof(OpRecord) == 40);

enum class MarkKind : std::uint32_t { kUser = 0, kStep = 1, kPhase = 2 };

/// A named point or span. A begin and its end carry the same `id`.
struct MarkRecord {
  RecordHeader header;  ///< aux: MarkKind
  std::uint64_t name;   ///< string id
  std::uint64_t id;     ///< pairs begin and end; 0 for points
  std::int64_t value;   ///< step number, else 0
  std::uint64_t stack;
};
static_assert(sizeof(MarkRecord) == 56);

/// Flags of a KeyRecord.
inline constexpr std::uint32_t kKeyFinal = 1u << 0;        ///< this release brought the use count to zero
inline constexpr std::uint32_t kKeyPersistent = 1u << 1;   ///< the key is persistent: its releases are only counted
inline constexpr std::uint32_t kKeyMismatch = 1u << 2;     ///< the declared count is not the first one of the cycle
inline constexpr std::uint32_t kKeyNoGather = 1u << 3;     ///< a release without a gather in this cycle
inline constexpr std::uint32_t kKeyExplicit = 1u << 4;     ///< from an explicit mark, not from a wrapped operator
inline constexpr std::uint32_t kKeyStorageDead = 1u << 5;  ///< the storage had died when this was written
inline constexpr std::uint32_t kKeyUnwound = 1u << 6;      ///< the operator threw
inline constexpr std::uint32_t kKeyFunction = 1u << 7;     ///< by a Python function, not an operator
inline constexpr std::uint32_t kKeyShared = 1u << 8;       ///< settled: the gather of another key uses the storage
inline constexpr std::uint32_t kKeyNotSettled = 1u << 9;   ///< final, but the storage could not be checked again: the
                                                           ///< table of such checks was full
inline constexpr std::uint32_t kKeyUntracked = 1u << 10;   ///< the storage is not tracked: its bytes are unknown
/// Gather, wait: the bits from here on are 1 + the number of c10::ScalarType of the tensor's elements; 0: unknown.
inline constexpr unsigned kKeyDtypeShift = 24;

/// A gather, wait, persist or release of one key = (graph, parameter).
struct KeyRecord {
  RecordHeader header;  ///< aux: flags above, and the dtype
  std::int64_t graph;
  std::int64_t key;
  std::uint64_t op;       ///< string id of the operator's (or mark's) name
  std::uint64_t tensor;   ///< gather, wait: the output; release: 0
  std::uint64_t storage;  ///< the key's storage
  std::uint64_t data;
  std::uint64_t bytes;     ///< bytes of that storage at this time
  std::int32_t declared;   ///< release: the declared count of uses
  std::int32_t remaining;  ///< release: uses left after this one
  std::uint64_t cycle;     ///< gather cycles of this key so far, starts at 1
  std::uint64_t stack;
  std::uint64_t ordinal;  ///< the thread's operator number
};
static_assert(sizeof(KeyRecord) == 112);

/// The name and mechanism of a key that a Python function gathers.
struct ParameterRecord {
  RecordHeader header;
  std::int64_t graph;
  std::int64_t key;
  std::uint64_t name;       ///< string id of the parameter's name, 0 if it is unknown
  std::uint64_t mechanism;  ///< string id
};
static_assert(sizeof(ParameterRecord) == 56);

/// Which outputs of an operator alias which arguments. Bit 8 * output + argument; only the first eight of each count.
struct OperatorAliasRecord {
  RecordHeader header;
  std::uint64_t name;      ///< string id, with the overload
  std::uint64_t schema;    ///< string id
  std::uint64_t declared;  ///< aliases that the schema declares
  std::uint64_t observed;  ///< the output used the argument's storage
};
static_assert(sizeof(OperatorAliasRecord) == 56);

/// Flag of a ReadRecord: a kernel or a copy got an address in the storage. `op` is the kernel's mangled name, `tensor`
/// is 0.
inline constexpr std::uint32_t kReadByKernel = 1u << 0;
/// The operator only writes the tensor. That is not a read, but from here on the storage no longer has the released
/// data.
inline constexpr std::uint32_t kReadOverwrites = 1u << 1;

struct ReadRecord {
  RecordHeader header;  ///< aux: flags above
  std::int64_t graph;
  std::int64_t key;
  std::uint64_t storage;
  std::uint64_t tensor;
  std::uint64_t bytes;  ///< bytes of the storage at the read: 0 means the data was gone
  std::uint64_t op;     ///< string id
  std::uint64_t ordinal;
  std::uint64_t stack;
};
static_assert(sizeof(ReadRecord) == 88);

enum class FenceEvent : std::uint32_t {
  kPlaced,       ///< from here on, the fenced bytes can be neither read nor written
  kForeign,      ///< not placed: the memory is no block of torch's CPU allocator
  kGpu,          ///< not placed: the memory is a GPU's
  kRefused,      ///< not placed: the kernel refuses it, or the table of fences is full
  kRead,         ///< the first access to a fence reads; the storage is open from here on
  kWritten,      ///< the first access to a fence writes
  kTouchUnseen,  ///< `bytes` fences were touched while no record was possible; the other fields are 0
  kPoisoned,     ///< all bytes were overwritten
  kResult,       ///< the program has computed a gradient, or read a number: `bytes` of it, and in `open` their digest
};

struct FenceRecord {
  RecordHeader header;  ///< aux: FenceEvent
  std::int64_t graph;
  std::int64_t key;
  std::uint64_t storage;
  std::uint64_t bytes;    ///< of the storage; touch: of the fence
  std::uint64_t open;     ///< bytes of the storage that are not fenced; touch: offset from the begin of the block;
                          ///< result: digest
  std::uint64_t op;       ///< touch: string id of the innermost operator; 0: none
  std::uint64_t ordinal;  ///< the thread's operator number
  std::uint64_t stack;
};
static_assert(sizeof(FenceRecord) == 88);

enum class NativeCall : std::uint32_t { kMalloc, kRealloc, kNew, kMmap };

/// An allocation that was sampled: each byte is with the same probability, the allocation if one of its bytes is.
struct NativeSampleRecord {
  RecordHeader header;  ///< aux: NativeCall
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t interval;  ///< mean number of bytes between two samples
  std::uint64_t missed;    ///< sampled allocations so far that could not be followed to their end; they have no record
  std::uint64_t stack;     ///< StackRecord id or 0
  std::uint64_t native;    ///< NativeStackRecord id; 0: none
};
static_assert(sizeof(NativeSampleRecord) == 72);

/// A sampled allocation ends. In a kNativeEnd with this flag it did not: its realloc has failed.
inline constexpr std::uint32_t kNativeGoesOn = 1u << 0;

struct NativeEndRecord {
  RecordHeader header;  ///< aux: flag above
  std::uint64_t address;
};
static_assert(sizeof(NativeEndRecord) == 32);

/// Whose reference count it is.
enum class CountOf : std::uint32_t { kStorage = 0, kTensor = 1, kObject = 2 };
enum class ReferenceEvent : std::uint32_t {
  kBegin,   ///< the count is watched from here on; it is `after`
  kChange,  ///< it went from `before` to `after`
  kCheck,   ///< it is `after` now, and `lost` changes have not been recorded so far
  kEnd,     ///< as kCheck, and it is not watched any more
};
inline constexpr std::uint32_t kCountOfShift = 8;             ///< of `aux`: CountOf
inline constexpr std::uint32_t kCountAtOperators = 1u << 16;  ///< of `aux`: read at operators, not by a watchpoint

struct ReferenceRecord {
  RecordHeader header;  ///< aux: ReferenceEvent, and as above
  std::uint64_t word;   ///< address of the count
  std::uint64_t storage;
  std::uint64_t tensor;  ///< 0 for a storage's count
  std::uint64_t before;
  std::uint64_t after;
  std::uint64_t lost;
  std::uint64_t stack;
  std::uint64_t native;  ///< NativeStackRecord id; 0: none
};
static_assert(sizeof(ReferenceRecord) == 88);

/// A return address in a loaded object, and the frame that it is in.
struct ReturnAddress {
  std::uint64_t object;      ///< string id of its path; 0: unknown
  std::uint64_t offset;      ///< from where the object is loaded
  std::uint64_t begin, end;  ///< of the frame, when the stack was seen first; zeros: unknown
  std::uint64_t returns;     ///< address to which the frame returns, right before its end
};

/// The frames are those of the program's own objects only: it is the stack of a program without Python. Its id is used
/// like that of a StackRecord.
inline constexpr std::uint32_t kOfProgram = 1u << 0;

/// A C++ stack, innermost frame first; `count` ReturnAddresses follow.
struct NativeStackRecord {
  RecordHeader header;  ///< aux: flag above
  std::uint64_t id;     ///< 64-bit hash of the frames
  std::uint64_t count;
};
static_assert(sizeof(NativeStackRecord) == 40);

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

enum class CensusTrigger : std::uint32_t { kRelease = 1, kOutOfMemory = 2, kCall = 3 };

/// Flags of a census record.
inline constexpr std::uint32_t kCensusUnstable = 1u << 0;      ///< counts changed during the census
inline constexpr std::uint32_t kCensusOtherThreads = 1u << 1;  ///< frames of other Python threads were not inspected
inline constexpr std::uint32_t kCensusSharingLossy = 1u << 2;  ///< the sharing set may be incomplete

/// Begin and end of a census of one storage. The begin's `census` value names it in all its records.
struct CensusRecord {
  RecordHeader header;   ///< aux: begin: CensusTrigger; end: flags above
  std::uint64_t census;  ///< id, unique in the process, starts at 1
  std::uint64_t storage;
  std::uint64_t bytes;
  std::int64_t graph;
  std::int64_t key;
  std::uint64_t count;          ///< strong count of the storage
  std::uint64_t python_object;  ///< address of the storage's Python object, 0 if none
  std::uint64_t stack;          ///< begin: stack at the census
  std::uint64_t ordinal;
};
static_assert(sizeof(CensusRecord) == 96);

struct CensusTensorRecord {
  RecordHeader header;  ///< aux: 1 if the tensor does not begin at the storage's data (a view with an offset)
  std::uint64_t census;
  std::uint64_t tensor;
  std::uint64_t count;          ///< strong count of the tensor
  std::uint64_t python_object;  ///< address of its Python object, 0 if none
  std::uint64_t python_count;   ///< reference count of that object
  std::uint64_t elements;
  std::uint64_t offset;  ///< storage offset in elements
  std::uint64_t base;    ///< the tensor that this one keeps as a differentiable view of it; 0 if none
};
static_assert(sizeof(CensusTensorRecord) == 88);

enum class LocalKind : std::uint32_t { kLocal = 1, kCell = 2, kFree = 3, kEvalStack = 4 };

/// One Python reference found in a frame.
struct CensusLocalRecord {
  RecordHeader header;  ///< aux: LocalKind
  std::uint64_t census;
  std::uint64_t object;  ///< the Python object that the local refers to
  std::uint64_t code;    ///< CodeRecord id of the frame
  std::int32_t offset;   ///< byte offset of the frame's current instruction
  std::int32_t line;     ///< its line
  std::int32_t index;    ///< index into localsplus; eval stack: depth
  std::uint32_t depth;   ///< 0 = innermost frame
  std::uint64_t name;    ///< string id of the variable, 0 on the eval stack
  std::uint64_t tid;     ///< kernel thread id of the frame's thread
};
static_assert(sizeof(CensusLocalRecord) == 80);

enum class CodeBodyPart : std::uint32_t {
  kInstructions = 1,    ///< co_code with specialised instructions replaced by their originals
  kLineTable = 2,       ///< co_linetable
  kExceptionTable = 3,  ///< co_exceptiontable
  kLocalNames = 4,      ///< localsplus names, each ended by a zero byte
};

/// A piece of a code object; pieces of one part arrive in order, `total` bytes in all.
struct CodeBodyRecord {
  RecordHeader header;  ///< aux: CodeBodyPart
  std::uint64_t code;
  std::uint32_t python;  ///< (major << 8) | minor
  std::uint32_t total;
  std::uint32_t offset;
  std::uint32_t bytes;
};
static_assert(sizeof(CodeBodyRecord) == 48);

/// Begins at `line` of a generated file: the model's source is `text` (a traceback excerpt).
struct SourceLineRecord {
  RecordHeader header;  ///< aux: line
  std::uint64_t file;   ///< string id of the generated file's path
  std::uint64_t text;   ///< string id
};
static_assert(sizeof(SourceLineRecord) == 40);

enum class LossReason : std::uint32_t { kNoRoom = 1, kInFlight = 4 };

struct LostRecord {
  RecordHeader header;  ///< aux: LossReason
  std::uint64_t count;
  std::uint64_t since_tsc;
};
static_assert(sizeof(LostRecord) == 40);

enum class DiagnosticCode : std::uint32_t {
  kProviderOff = 1,  ///< a provider was switched off (the text has its name and the reason)
  kKeyTableFull = 5,
  kNote = 6,
};

struct DiagnosticRecord {
  RecordHeader header;  ///< aux: DiagnosticCode
  std::uint64_t text;   ///< string id
};
static_assert(sizeof(DiagnosticRecord) == 32);

/// Limit of a record's size. A chunk less its header would be possible; the limit keeps pieces small.
inline constexpr std::size_t kMaxRecordBytes = 16 * 1024;

}  // namespace dcmt::wire
