#include "collector/scan/graph/source_files.h"

#include <algorithm>
#include <set>

#include "collector/scan/objects/python_objects.h"

namespace dcmt::scan {
namespace {

/// The import system's entries come first in the dictionary of a module.
constexpr std::uint64_t kFirstEntries = 16;

std::string file_of_module(Address module, Mirror& memory, const PythonLayout& layout, PythonText& text) {
  const Address dict = memory.word(module + layout.module_dict);
  const DictKeys table = read_dict_keys(memory, layout, memory.word(dict + layout.dict_keys));
  for (std::uint64_t i = 0; table.ok && i < std::min(table.count, kFirstEntries); ++i) {
    const Address key = table.entries + i * table.entry_size() + table.key_offset();
    if (text.text(memory.word(key)) == "__file__") return text.text(memory.word(key + 8));
  }
  return {};
}

}  // namespace

std::vector<std::string> source_files(const Graph& graph, Mirror& memory, ProcessTypes& types, PythonText& text) {
  std::set<std::string> files;
  for (const GraphEdge& edge : graph.edges()) {
    if (edge.source != kRootNode) break;
    const Root& root = graph.root(edge.index);
    if (root.kind == Kind::kFrame) files.insert(text.text(memory.word(root.code + types.python.code_filename)));
    if (root.kind == Kind::kModule) files.insert(file_of_module(root.address, memory, types.python, text));
  }
  files.erase("");
  return {files.begin(), files.end()};
}

}  // namespace dcmt::scan
