// Records of gathered parameters: their gathers and releases, and what reads them or touches them afterwards.
#pragma once

#include <cstdint>

#include "trace/wire/record_header.h"

namespace dcmt::wire {

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

}  // namespace dcmt::wire
