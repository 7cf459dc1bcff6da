// Reads the objects of a path once more, from fresh memory: what has changed since the first read is no finding.
#pragma once

#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/roots.h"

namespace dcmt::scan {

/// Not thread-safe. Every object is read at most once more.
class SecondReading {
 public:
  /// `memory` must not have been read from before; the others are those of the first reading, as of named_roots().
  SecondReading(const Graph& graph, Mirror& memory, ProcessTypes& types, Address runtime, OwnModules* own);

  /// Whether its root is still one, and each object of the way still refers to the next one in the same way. A frame
  /// that has ended keeps its variables in memory until another one overwrites them.
  [[nodiscard]] bool confirms(std::span<const EdgeIndex> way);

 private:
  const Graph& graph_;
  PythonObjects objects_;
  std::set<Root> roots_;
  std::unordered_map<NodeIndex, std::vector<Reference>> read_;
};

}  // namespace dcmt::scan
