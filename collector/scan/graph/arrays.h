// Arrays of numpy among the objects of a process, and who holds them.
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

/// What one variable or container holds of arrays that own their data.
struct HeldArrays {
  std::string path;   ///< "main: rows"
  std::string place;  ///< where the frame stood that is the path's root; empty: another root
  std::string type;   ///< "list"; empty: a variable
  std::size_t arrays = 0;
  std::uint64_t bytes = 0;
};

/// Most bytes first. What is held twice counts for one of its holders.
[[nodiscard]] std::vector<HeldArrays> held_arrays(const Graph& graph, Mirror& memory, ProcessTypes& types, Paths& paths,
                                                  PythonText& text);

}  // namespace dcmt::scan
