// The line of a stack that its reader would name: the innermost of the program's own files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// Bytes that were allocated at a stack and are alive.
struct StackBytes {
  RowId stack = 0;
  std::int64_t bytes = 0;
};

/// Thread-safety: none.
class StackPlaces {
 public:
  explicit StackPlaces(Journal& journal) : journal_(journal) {}

  /// "app/train.py:12 main"; of a stack without own files, its innermost line; empty if it has no line.
  Expected<std::string> of(RowId stack);
  /// The same for several stacks: of those with most bytes; the others get the name `others`. Stacks that differ only
  /// in their callers have one place.
  /// @param most  that are named: each is read from the trace at its first time
  Expected<std::map<RowId, std::string>> of_largest(std::vector<StackBytes> stacks, std::size_t most,
                                                    std::string_view others);

 private:
  Expected<std::string> read(RowId stack);

  Journal& journal_;
  std::unordered_map<RowId, std::string> known_;
};

}  // namespace dcmt::recorder
