// Blocks by the lines of the program that allocated them.
#pragma once

#include <string>
#include <vector>

#include "analyzer/compare/memory_facts.h"
#include "analyzer/storages/holder_names.h"

namespace dcmt::analyzer {

/// One trace's blocks; the data must outlive it.
class AllocationLines {
 public:
  explicit AllocationLines(const TraceData& data) : data_(data), holders_(data) {}

  /// By function, then line. Blocks that are not followed have a line without a file.
  [[nodiscard]] std::vector<AllocationLine> of(const std::vector<const Block*>& blocks) const;
  /// Where a stack is, as an AllocationLine of 0 bytes.
  [[nodiscard]] AllocationLine at(StackId stack) const;

 private:
  const TraceData& data_;
  HolderNames holders_;
};

}  // namespace dcmt::analyzer
