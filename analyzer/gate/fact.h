// The facts that a gate compares. Each is one number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/compare/line_changes.h"
#include "analyzer/compare/memory_facts.h"

namespace dcmt::gate {

enum class Unit { kBytes, kCount };

/// One number of a recording. For several ranks: the maximum of bytes, the sum of counts.
struct Fact {
  std::string name;  ///< "peak.forward", "growth.step", "residual.bytes", "gathers.hook"
  Unit unit = Unit::kBytes;
  std::int64_t value = 0;
  std::int64_t rank = -1;                       ///< the rank that has this value, if there are several
  std::vector<analyzer::AllocationLine> lines;  ///< what the number consists of, by function and line
};

/// The facts of one run, made from the traces of its ranks.
struct Recording {
  std::string section;  ///< "cpu, torch 2.11": numbers of different sections are never compared
  std::string arguments;
  std::int64_t ranks = 1, steps = 0;
  std::vector<Bytes> sizes, made;  ///< as in MemoryFacts
  std::int64_t operators = 0;
  std::string order;  ///< a hash of the order of these operators
  std::vector<std::string> unfit;
  std::vector<Fact> facts;  ///< in the order of a baseline's facts
  std::vector<analyzer::FindingFact> findings;
  std::vector<std::string> paths;  ///< paths of the traces

  /// nullptr if there is no fact with that name.
  [[nodiscard]] const Fact* fact(const std::string& name) const;
};

/// `processes`: the traces of one run, at least one. Only processes that train count (analyzer::trainers_of).
[[nodiscard]] Recording recording_of(std::vector<analyzer::MemoryFacts> processes);

}  // namespace dcmt::gate
