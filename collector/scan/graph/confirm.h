// Reads the objects of a path again, from fresh memory. A path that has changed since the first read is not a finding.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "collector/scan/graph/cpp_roots.h"
#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/roots.h"

namespace dcmt::scan {

/// Not thread-safe. It reads every object, and compares every reference, at most once more: paths through one graph
/// share most of their references.
class SecondReading {
 public:
  /// `memory` must be unused. The other arguments are those of the first reading, see named_roots().
  SecondReading(const Graph& graph, Mirror& memory, ProcessTypes& types, Address runtime, OwnModules* own,
                std::span<const CppVariable> variables);

  /// @param way  as Paths::way_to() has it
  /// True if the root still exists, and each object of the path still refers to the next one in the same way. A frame
  /// that has ended does not count, though its variables stay in memory until another frame overwrites them.
  [[nodiscard]] bool confirms(std::span<const EdgeIndex> way);

 private:
  [[nodiscard]] bool is_there(EdgeIndex number);
  [[nodiscard]] bool is_same(EdgeIndex number);
  /// True if all edges of the run of autograd nodes are there that a path has left out before `last`.
  [[nodiscard]] bool confirms_run(NodeIndex first, NodeIndex last);

  const Graph& graph_;
  PythonObjects objects_;
  std::set<Root> roots_;
  std::unordered_map<NodeIndex, std::vector<Reference>> read_;
  enum class Compared : std::uint8_t { kNot, kSame, kOther };
  std::vector<Compared> compared_;            ///< by reference
  std::unordered_map<NodeIndex, bool> runs_;  ///< by the last node
};

}  // namespace dcmt::scan
