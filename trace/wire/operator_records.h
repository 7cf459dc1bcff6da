// Records of operators, modules and marks: what ran.
#pragma once

#include <cstdint>

#include "trace/wire/record_header.h"

namespace dcmt::wire {

/// From here on, the thread allocates for this torch.nn.Module.
struct ModuleRecord {
  RecordHeader header;
  std::uint64_t module;     ///< address of the module whose call is the innermost one; 0: none
  std::uint64_t node;       ///< 1 + the number of autograd's node that runs, outside of such calls; 0: none
  std::uint64_t from_node;  ///< nodes that the thread has made since its last block have this number or a higher one
};
static_assert(sizeof(ModuleRecord) == 48);

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

}  // namespace dcmt::wire
