// Sums of blocks by the lines of the program that allocated them.
#pragma once

#include <string>
#include <vector>

#include "analyzer/compare/memory_facts.h"
#include "analyzer/storages/holder_names.h"

namespace dcmt::analyzer {

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
