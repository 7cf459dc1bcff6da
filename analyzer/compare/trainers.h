// Which processes of a run train.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/compare/memory_facts.h"

namespace dcmt::analyzer {

/// How much a process did: its steps, then the peak of its first device.
[[nodiscard]] std::pair<std::int64_t, Bytes> work_of(const MemoryFacts& process);

struct Trainers {
  std::vector<MemoryFacts> ranks;     ///< by rank; of a program without ranks, its one process
  std::vector<std::string> left_out;  ///< paths of the other traces
};

/// `processes`: the traces of one run. Of several of one rank, and of several without ranks, the one trains that did
/// most (work_of).
[[nodiscard]] Trainers trainers_of(std::vector<MemoryFacts> processes);

}  // namespace dcmt::analyzer
