// Sums of blocks by the lines of the program that allocated them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/storages/holder_names.h"

namespace dcmt::analyzer {

/// What one line of the program had allocated at a peak.
struct AllocationLine {
  std::string function;  ///< "train.py step": unchanged if lines move; "generated code call"
  std::string file;      ///< as in the trace; empty: no Python frame
  std::int64_t line = 0;
  std::string caller;  ///< the user's frame that called it, "train.py:30 main"; empty: none
  std::string holder;  ///< the holder of most of the bytes: "main: kept"; empty: not read
  std::int64_t blocks = 0;
  Bytes bytes;
};

/// The blocks of one trace. The trace's data must outlive this object.
class AllocationLines {
 public:
  explicit AllocationLines(const TraceData& data) : data_(data), holders_(data) {}

  /// Ordered by function, then by line. Blocks that are not tracked have a line without a file.
  [[nodiscard]] std::vector<AllocationLine> of(const std::vector<const Block*>& blocks) const;
  /// The place of a stack, as an AllocationLine of 0 bytes.
  [[nodiscard]] AllocationLine at(StackId stack) const;

 private:
  const TraceData& data_;
  HolderNames holders_;
};

}  // namespace dcmt::analyzer
