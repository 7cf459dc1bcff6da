// Where the paths to objects begin: frames of all threads, modules, what a thread keeps for itself, and, for objects
// that none of these reaches, the lists of Python's collector.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/own_modules.h"
#include "collector/scan/objects/python_text.h"

namespace dcmt::scan {

struct NamedRoot {
  Root root;
  std::uint8_t cost = 0;  ///< how well a path reads that begins there; less is better
};

/// The named roots of every interpreter. `runtime` is the address of _PyRuntime.
/// @param own  of these only where variables are: frames, `__main__` and the program's own modules, and what a thread
///             or an exception keeps; nullptr: all
[[nodiscard]] std::vector<NamedRoot> named_roots(Mirror& memory, ProcessTypes& types, PythonText& text, Address runtime,
                                                 OwnModules* own);

/// Adds the objects in the collector's lists that the graph does not have yet. Call after explore().
/// Returns whether the collector was running, in which case its lists were being taken apart.
[[nodiscard]] bool add_collected_objects(Graph& graph, Mirror& memory, ProcessTypes& types, Address runtime);

}  // namespace dcmt::scan
