// The line of a stack that its reader would name: the innermost of the program's own files.
#pragma once

#include <string>
#include <unordered_map>

#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class StackPlaces {
 public:
  explicit StackPlaces(Journal& journal) : journal_(journal) {}

  /// "app/train.py:12 main"; of a stack without own files, its innermost line; empty if it has no line.
  Expected<std::string> of(RowId stack);

 private:
  Expected<std::string> read(RowId stack);

  Journal& journal_;
  std::unordered_map<RowId, std::string> known_;
};

}  // namespace dcmt::recorder
