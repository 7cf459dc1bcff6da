// Paths from a root to an object, as steps and as a person writes them.
#pragma once

#include <compare>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collector/scan/graph/cycles.h"
#include "collector/scan/graph/graph.h"
#include "collector/scan/objects/python_text.h"

namespace dcmt::scan {

/// Whether this is how an object refers to a dictionary whose entries a person writes as attributes of the object.
[[nodiscard]] bool holds_attributes(std::string_view label);

/// Not thread-safe. Texts are read from the mirror when they are asked for.
class Paths {
 public:
  Paths(const Graph& graph, Mirror& memory, ProcessTypes& types, PythonText& text)
      : graph_(graph), memory_(memory), types_(types), text_(text) {}

  /// The cheapest way to `node`, the root's edge first; empty where no root leads to it.
  [[nodiscard]] std::vector<EdgeIndex> way_to(NodeIndex node) const;

  /// Where the frame stood that is the root of a way, "train.py:37"; empty for another root.
  [[nodiscard]] std::string place_of(std::span<const EdgeIndex> way);

  /// "main: probe.seen[3]"; autograd nodes in a row are folded: "loss.grad_fn SumBackward0 … 2 nodes → MmBackward0".
  [[nodiscard]] std::string text_of(std::span<const EdgeIndex> way);

  /// "cycle Kept.x → SigmoidBackward0._saved_result → Kept", and how what it keeps hangs on it.
  [[nodiscard]] std::string text_of(const Cycle& cycle);

  /// One reference as it is written in a path: ".x", "[3]", "['key']".
  [[nodiscard]] std::string label_of(const GraphEdge& edge);

  /// Whether the key of this entry of a dictionary is a tensor of Python.
  [[nodiscard]] bool has_tensor_as_key(const GraphEdge& entry);

  /// How the references of a way can be cut in general: indexes and keys of objects become [*].
  [[nodiscard]] static std::string pattern_of(const std::string& path);

 private:
  struct CycleStep {
    std::string type;
    std::string reference;  ///< ".x"
    friend auto operator<=>(const CycleStep&, const CycleStep&) = default;
  };

  std::vector<CycleStep> steps_of(std::vector<EdgeIndex> circle);
  std::string attribute(const std::string& container, const GraphEdge& entry);
  std::string closure_variable(std::span<const EdgeIndex> way);
  std::string type_of(NodeIndex node);

  const Graph& graph_;
  Mirror& memory_;
  ProcessTypes& types_;
  PythonText& text_;
};

}  // namespace dcmt::scan
