// The objects of a process and their references, explored from named roots, the most readable paths first.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "collector/scan/graph/node_numbers.h"
#include "collector/scan/objects/python_objects.h"

namespace dcmt::scan {

using NodeIndex = std::uint32_t;
using EdgeIndex = std::uint32_t;

/// Node 0 is not an object: it is the source of the roots' edges.
inline constexpr NodeIndex kRootNode = 0;

struct GraphNode {
  Address address = 0;
  EdgeIndex first_edge = 0;
  EdgeIndex end_edge = 0;
  EdgeIndex best_edge = 0;  ///< last edge of the cheapest path
  std::uint16_t cost = 0xffff;
  Kind kind = Kind::kNone;
  bool explored = false;
};

struct GraphEdge {
  NodeIndex source = 0;
  NodeIndex target = 0;
  std::uint64_t index : 48 = 0;  ///< addresses of a process have at most 48 bits
  Label label = Label::kRoot;
  std::uint8_t cost = 0;
};
static_assert(sizeof(GraphEdge) == 16, "a process has millions of them");

/// The begin of a path: a frame, a module, an object of a thread. Another root may have the same address later.
struct Root {
  Address address = 0;
  Kind kind = Kind::kNone;
  Address code = 0;        ///< of a frame: its code object
  std::string name;        ///< empty: an object that is alive, without a name
  std::string place = {};  ///< of a variable of C++: where it is declared

  auto operator<=>(const Root&) const = default;
};

/// Limits for the exploration of a graph.
struct GraphLimits {
  std::uint8_t dearest = 255;  ///< costlier references, which read worse, are added but not followed
  std::size_t most_edges = ~std::size_t{0};
};

/// Not thread-safe.
class Graph {
 public:
  explicit Graph(PythonObjects& objects, GraphLimits limits = {});

  void add_root(Root root, std::uint8_t cost);
  /// Adds a live object that no root has led to; false if one has. Its references are explored after all others.
  bool add_unrooted(Address address, Kind kind);
  /// Explores what was added since the last call.
  void explore();

  /// 0 if the graph does not have the object.
  [[nodiscard]] NodeIndex find(Address address, Kind kind) const;
  [[nodiscard]] const std::vector<GraphNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<GraphEdge>& edges() const { return edges_; }
  /// `index` of an edge from kRootNode.
  [[nodiscard]] const Root& root(std::uint64_t index) const { return roots_[index]; }
  /// True if a named root leads to the node.
  [[nodiscard]] bool is_rooted(NodeIndex node) const;
  /// True for an edge from an autograd node to the next one. Graphs can be thousands of them deep.
  [[nodiscard]] bool is_within_run(EdgeIndex edge) const {
    return nodes_[edges_[edge].source].kind == Kind::kNode && nodes_[edges_[edge].target].kind == Kind::kNode;
  }

 private:
  NodeIndex node_of(Address address, Kind kind);
  /// Whether a node has this key, which stands for an address.
  [[nodiscard]] bool has_key(NodeIndex node, Address key) const;
  void offer(EdgeIndex edge, std::uint32_t cost);

  PythonObjects& objects_;
  const GraphLimits limits_;
  std::vector<GraphNode> nodes_;
  std::vector<GraphEdge> edges_;
  std::vector<Root> roots_;
  NodeNumbers numbers_;
  std::vector<std::vector<NodeIndex>> by_cost_;
};

}  // namespace dcmt::scan
