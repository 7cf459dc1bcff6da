// The facts that a gate compares, one number each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/compare/line_changes.h"
#include "analyzer/compare/memory_facts.h"

namespace dcmt::gate {

enum class Unit { kBytes, kCount };

/// One number of a recording. Of several ranks the highest of bytes, and the sum of counts.
struct Fact {
  std::string name;  ///< "peak.forward", "growth.step", "residual.bytes", "gathers.hook"
  Unit unit = Unit::kBytes;
  std::int64_t value = 0;
  std::int64_t rank = -1;                       ///< that it is of, where there are several
  std::vector<analyzer::AllocationLine> lines;  ///< what it consists of, by function and line
};

/// What one run says: the traces of its ranks.
struct Recording {
  std::string section;  ///< "cpu, torch 2.11": numbers of different sections are not compared
  std::string arguments;
  std::int64_t ranks = 1, steps = 0;
  std::vector<Bytes> sizes, made;  ///< as of MemoryFacts
  std::int64_t operators = 0;
  std::string order;  ///< of these operators, a hash
  std::vector<std::string> unfit;
  std::vector<Fact> facts;  ///< in the order of a baseline
  std::vector<analyzer::FindingFact> findings;
  std::vector<std::string> paths;  ///< of the traces

  /// nullptr if there is none of that name.
  [[nodiscard]] const Fact* fact(const std::string& name) const;
};

/// `processes`: the traces of one run, at least one. Only those that train count (analyzer::trainers_of).
[[nodiscard]] Recording recording_of(std::vector<analyzer::MemoryFacts> processes);

}  // namespace dcmt::gate
