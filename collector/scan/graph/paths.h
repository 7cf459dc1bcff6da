// Paths from a root to an object: as edges, and as readable text.
#pragma once

#include <compare>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "collector/scan/graph/cycles.h"
#include "collector/scan/graph/graph.h"
#include "collector/scan/objects/python_text.h"

namespace dcmt::scan {

/// True if an object refers in this way to a dictionary whose entries are written as the object's attributes.
[[nodiscard]] bool holds_attributes(std::string_view label);

/// Not thread-safe. It reads texts from the mirror when they are needed.
class Paths {
 public:
  Paths(const Graph& graph, Mirror& memory, ProcessTypes& types, PythonText& text)
      : graph_(graph), memory_(memory), types_(types), text_(text) {}

  /// Sets whether Python's collector is switched off: it is not by default.
  void set_collector_off(bool off) { collector_off_ = off; }

  /// Sets which objects gc.freeze() hides from the collector.
  void set_frozen(std::unordered_set<Address> frozen) { frozen_ = std::move(frozen); }

  /// The cheapest path to `node`, beginning with the root's edge; empty if no root leads to it. Of a run of autograd
  /// nodes it has the last edge only: the source of this edge is not the target of the one before.
  [[nodiscard]] std::vector<EdgeIndex> way_to(NodeIndex node);

  /// Position of the frame that is the root of a path, "train.py:37"; empty for another root.
  [[nodiscard]] std::string place_of(std::span<const EdgeIndex> way);

  /// "main: probe.seen[3]"; consecutive autograd nodes are folded: "loss.grad_fn SumBackward0 … 2 nodes → MmBackward0".
  [[nodiscard]] std::string text_of(std::span<const EdgeIndex> way);

  /// "cycle Kept.x → SigmoidBackward0._saved_result → Kept", and the path from it to the object that it keeps.
  [[nodiscard]] std::string text_of(const Cycle& cycle);

  /// A reference as in a path: ".x", "[3]", "['key']".
  [[nodiscard]] std::string label_of(const GraphEdge& edge);

  /// True if the key of this dictionary entry is a Python tensor.
  [[nodiscard]] bool has_tensor_as_key(const GraphEdge& entry);

  /// Generalizes a path: indexes and keys of objects become [*].
  [[nodiscard]] static std::string pattern_of(const std::string& path);

 private:
  struct CycleStep {
    std::string type;
    std::string reference;  ///< ".x"
    friend auto operator<=>(const CycleStep&, const CycleStep&) = default;
  };

  /// The autograd nodes on the cheapest path to one of them.
  struct Run {
    NodeIndex first = 0;
    std::uint32_t length = 0;  ///< edges
  };
  [[nodiscard]] Run run_to(NodeIndex node);

  std::vector<CycleStep> steps_of(std::vector<EdgeIndex> circle);
  std::string attribute(const std::string& container, const GraphEdge& entry);
  std::string closure_variable(std::span<const EdgeIndex> way);
  std::string type_of(NodeIndex node);

  const Graph& graph_;
  Mirror& memory_;
  ProcessTypes& types_;
  PythonText& text_;
  bool collector_off_ = false;
  std::unordered_set<Address> frozen_;
  std::unordered_map<NodeIndex, Run> runs_;
};

}  // namespace dcmt::scan
