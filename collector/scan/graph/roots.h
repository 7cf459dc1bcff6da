// The begins of paths: frames of all threads, modules, objects of a thread, and, for objects that none of these leads
// to, the lists of Python's collector.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/own_modules.h"
#include "collector/scan/objects/python_text.h"

namespace dcmt::scan {

struct NamedRoot {
  Root root;
  std::uint8_t cost = 0;  ///< a path from here is more readable if this is lower
};

/// The named roots of every interpreter. `runtime` is the address of _PyRuntime.
/// @param own  if set, only roots with variables: frames, `__main__`, the program's own modules, and objects that a
/// thread or an exception keeps; nullptr: all
[[nodiscard]] std::vector<NamedRoot> named_roots(Mirror& memory, ProcessTypes& types, PythonText& text, Address runtime,
                                                 OwnModules* own);

/// True if a thread imports a module of Python or of an installed package.
[[nodiscard]] bool is_importing(Mirror& memory, ProcessTypes& types, Address runtime);

/// True if Python's collector is switched off.
[[nodiscard]] bool collector_is_off(Mirror& memory, const ProcessTypes& types, Address runtime);

struct CollectedObjects {
  bool collecting = false;             ///< the collector was running: it splits its lists meanwhile
  std::unordered_set<Address> frozen;  ///< of those that were added, what gc.freeze() hides from the collector
};

/// Adds the objects in the collector's lists that the graph does not have yet. Call it after explore().
[[nodiscard]] CollectedObjects add_collected_objects(Graph& graph, Mirror& memory, ProcessTypes& types,
                                                     Address runtime);

}  // namespace dcmt::scan
