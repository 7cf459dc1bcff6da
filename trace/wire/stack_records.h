// Records of texts, of code, and of stacks of Python and of C++.
#pragma once

#include <cstdint>

#include "trace/wire/record_header.h"

namespace dcmt::wire {

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

}  // namespace dcmt::wire
