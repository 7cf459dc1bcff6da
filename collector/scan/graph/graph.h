// The objects of a process and what they refer to, explored from named roots in the order of how well paths read.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "collector/scan/graph/address_map.h"
#include "collector/scan/objects/python_objects.h"

namespace dcmt::scan {

using NodeIndex = std::uint32_t;
using EdgeIndex = std::uint32_t;

/// Node 0 is no object: the source of the edges of roots.
inline constexpr NodeIndex kRootNode = 0;

struct GraphNode {
  Address address = 0;
  EdgeIndex first_edge = 0;
  EdgeIndex end_edge = 0;
  EdgeIndex best_edge = 0;  ///< the last step of the cheapest path
  std::uint16_t cost = 0xffff;
  Kind kind = Kind::kNone;
  bool explored = false;
};

struct GraphEdge {
  NodeIndex source = 0;
  NodeIndex target = 0;
  std::uint64_t index : 48 = 0;  ///< addresses of a process have no more bits
  Label label = Label::kRoot;
  std::uint8_t cost = 0;
};
static_assert(sizeof(GraphEdge) == 16, "a process has millions of them");

/// Where paths begin: a frame, a module, what a thread keeps. Another one may be at the address later.
struct Root {
  Address address = 0;
  Kind kind = Kind::kNone;
  Address code = 0;  ///< of a frame: what it runs
  std::string name;  ///< empty: an object that is only known to be alive

  auto operator<=>(const Root&) const = default;
};

/// How far a graph is explored.
struct GraphLimits {
  std::uint8_t dearest = 255;  ///< references through which a path reads worse are known, and not followed
  std::size_t most_edges = ~std::size_t{0};
};

/// Not thread-safe.
class Graph {
 public:
  explicit Graph(PythonObjects& objects, GraphLimits limits = {});

  void add_root(Root root, std::uint8_t cost);
  /// An object that is alive although no root has led to it: what it refers to is explored after everything else.
  void add_unrooted(Address address, Kind kind);
  /// Explores what has been added since the last call.
  void explore();

  /// 0 where the object is not known.
  [[nodiscard]] NodeIndex find(Address address, Kind kind) const;
  [[nodiscard]] const std::vector<GraphNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<GraphEdge>& edges() const { return edges_; }
  /// `index` of an edge that begins at kRootNode.
  [[nodiscard]] const Root& root(std::uint64_t index) const { return roots_[index]; }
  /// Whether a named root leads to the node.
  [[nodiscard]] bool is_rooted(NodeIndex node) const;

 private:
  NodeIndex node_of(Address address, Kind kind);
  void offer(EdgeIndex edge, std::uint32_t cost);

  PythonObjects& objects_;
  const GraphLimits limits_;
  std::vector<GraphNode> nodes_;
  std::vector<GraphEdge> edges_;
  std::vector<Root> roots_;
  AddressMap numbers_;
  std::vector<std::vector<NodeIndex>> by_cost_;
};

}  // namespace dcmt::scan
