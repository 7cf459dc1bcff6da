// Finds the numpy arrays and the graphs of autograd among the objects of a process, and their holders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/paths.h"
#include "collector/scan/objects/process_types.h"
#include "collector/scan/objects/python_text.h"

namespace dcmt::scan {

/// The arrays with data of their own that one variable or container holds; or the nodes of its graphs.
struct HeldArrays {
  std::string path;        ///< "main: rows"
  std::string place;       ///< position of the frame that is the path's root; empty: another root
  std::string type;        ///< "list"; empty: a variable; "graph", "list of graphs": it holds nodes
  std::size_t arrays = 0;  ///< or nodes
  std::uint64_t bytes = 0;
};

/// Most bytes first. An array, or a node, with two holders counts for only one of them.
[[nodiscard]] std::vector<HeldArrays> held_arrays(const Graph& graph, Mirror& memory, ProcessTypes& types, Paths& paths,
                                                  PythonText& text);

}  // namespace dcmt::scan
