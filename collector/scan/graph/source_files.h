// Names the files whose code the roots of a graph come from.
#pragma once

#include <string>
#include <vector>

#include "collector/scan/graph/graph.h"
#include "collector/scan/objects/python_text.h"

namespace dcmt::scan {

/// The files of the functions whose frames are roots, and of the modules that are; each once.
[[nodiscard]] std::vector<std::string> source_files(const Graph& graph, Mirror& memory, ProcessTypes& types,
                                                    PythonText& text);

}  // namespace dcmt::scan
