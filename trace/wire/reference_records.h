// Records of who holds a storage: watched reference counts, and censuses.
#pragma once

#include <cstdint>

#include "trace/wire/record_header.h"

namespace dcmt::wire {

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

}  // namespace dcmt::wire
