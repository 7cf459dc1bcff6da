// Finds the list, dictionary or graph whose entries hold many storages, and whether anything else holds them, too.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collector/scan/graph/counts.h"
#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/paths.h"

namespace dcmt::scan {

enum class ContainerKind : std::uint8_t {
  kEntries,        ///< a list, dictionary, set or tuple
  kAttributes,     ///< an object with attributes whose names the program makes: `setattr(p, f"old_{task}", x)`
  kGraph,          ///< a tensor whose autograd graph holds the storages: the graph is its only entry
  kFinishedFrame,  ///< a call that an exception has ended: a traceback keeps its variables
};

struct Container {
  NodeIndex node = 0;
  ContainerKind kind = ContainerKind::kEntries;
  std::vector<EdgeIndex> way;   ///< from a root to the container; of attributes, to the object that has them
  std::uint64_t bytes = 0;      ///< of the storages that have a path through the container
  std::set<EdgeIndex> entries;  ///< references from the container on paths to these storages
};

/// Computes what would still lead to an object if some containers dropped their entries.
class Reach {
 public:
  static constexpr std::uint32_t kOtherwise = 1;            ///< a path without containers, or from an undecoded object
  static constexpr std::uint32_t kUnexplained = 1U << 31U;  ///< an object on the path has references not found

  /// A container that only other containers hold, one of which has as many entries, is dropped: its storages belong to
  /// that one. At most 30 containers stay.
  /// @param counts  for a graph without all objects: an object with more references than were found may be held
  /// otherwise. nullptr for a complete graph
  Reach(const Graph& graph, std::vector<Container> containers, const Counts* counts);

  [[nodiscard]] const std::vector<Container>& containers() const { return containers_; }
  /// kOtherwise, kUnexplained, and bit i + 1: entries of container i lead to the object.
  [[nodiscard]] std::uint32_t of(NodeIndex node) const { return reached_by_[node]; }

 private:
  void spread(const Graph& graph);
  [[nodiscard]] bool stays(const Container& container, const std::vector<Container>& all) const;

  std::vector<Container> containers_;
  const Counts* counts_;
  std::vector<std::uint32_t> reached_by_;
};

/// Finds the container on each path to a storage: the object where the paths part. Not thread-safe.
class ContainerSearch {
 public:
  ContainerSearch(const Graph& graph, const Names& names);

  /// `way` leads from a root to a storage with this size.
  void add(std::vector<EdgeIndex> way, std::uint64_t bytes);
  /// Sorted by bytes, the largest first.
  /// @param paths  has the names of attributes
  [[nodiscard]] std::vector<Container> find(Paths& paths);

 private:
  [[nodiscard]] bool is_attribute(EdgeIndex edge, EdgeIndex before) const;
  [[nodiscard]] bool is_entry(EdgeIndex edge, EdgeIndex before) const;
  /// Fills in numbered_ from attributes_.
  void find_numbered(Paths& paths);
  /// The entry and the others of its object; nullptr: the reference is no entry.
  [[nodiscard]] const std::set<EdgeIndex>* entries_with(EdgeIndex edge) const;
  /// Index on a path where the most entries of one object were found, and where it enters an autograd graph; 0: none.
  [[nodiscard]] std::size_t parting(const std::vector<EdgeIndex>& way) const;
  [[nodiscard]] std::size_t graph_begins(const std::vector<EdgeIndex>& way) const;
  /// Index on a path where it leaves the frame of a call that has ended; 0: none.
  [[nodiscard]] std::size_t finished_frame(const std::vector<EdgeIndex>& way) const;
  [[nodiscard]] std::pair<std::size_t, ContainerKind> container_on(const std::vector<EdgeIndex>& way) const;

  const Graph& graph_;
  const Names& names_;
  struct Way {
    std::vector<EdgeIndex> edges;
    std::uint64_t bytes;
  };
  std::vector<Way> ways_;
  std::map<NodeIndex, std::set<EdgeIndex>> entries_;
  std::map<NodeIndex, std::set<EdgeIndex>> attributes_;
  /// Attributes of one object whose names differ in a number, by the object and the name without it.
  std::map<std::pair<NodeIndex, std::string>, std::set<EdgeIndex>> numbered_;
  std::map<EdgeIndex, const std::set<EdgeIndex>*> numbered_with_;
  std::set<NodeIndex> unfinished_;  ///< frames of calls that have not ended
};

}  // namespace dcmt::scan
