// Selects the processes of a run that train.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/compare/memory_facts.h"

namespace dcmt::analyzer {

/// The work of a process: its number of steps, then the peak of its first device. For ordering.
[[nodiscard]] std::pair<std::int64_t, Bytes> work_of(const MemoryFacts& process);

struct Trainers {
  std::vector<MemoryFacts> ranks;     ///< by rank; for a program without ranks: its one process
  std::vector<std::string> left_out;  ///< paths of the other traces
};

/// `processes`: the traces of one run. Where several processes have the same rank, or none has a rank, the one that did
/// most work (work_of) counts as the one that trains.
[[nodiscard]] Trainers trainers_of(std::vector<MemoryFacts> processes);

}  // namespace dcmt::analyzer
