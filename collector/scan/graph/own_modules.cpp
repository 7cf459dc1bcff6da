#include "collector/scan/graph/own_modules.h"

#include <algorithm>
#include <string>

#include "collector/scan/objects/python_objects.h"
#include "trace/base/code_path.h"

namespace dcmt::scan {
namespace {

/// What the import system enters comes first: __name__, __doc__, __package__, __loader__, __spec__, __file__.
constexpr std::uint64_t kFirstEntries = 16;

}  // namespace

bool OwnModules::contains(Address module, Address name, Mirror& memory, PythonText& text) {
  const auto [found, fresh] = modules_.try_emplace(module);
  if (!fresh) return found->second;
  const std::string full = text.text(name);
  const auto [package, first] = packages_.try_emplace(full.substr(0, full.find('.')));
  if (first) package->second = inspect(module, memory, text);
  return found->second = package->second;
}

bool OwnModules::inspect(Address module, Mirror& memory, PythonText& text) const {
  const Address dict = memory.word(module + layout_.module_dict);
  const DictKeys table = read_dict_keys(memory, layout_, memory.word(dict + layout_.dict_keys));
  if (!table.ok) return false;
  for (std::uint64_t i = 0; i < std::min(table.count, kFirstEntries); ++i) {
    const Address entry = table.entries + i * table.entry_size() + table.key_offset();
    const std::string key = text.text(memory.word(entry));
    const std::string value = key == "__name__" || key == "__file__" ? text.text(memory.word(entry + 8)) : "";
    if (key == "__name__" && value == "__main__") return true;
    if (key == "__file__") return !is_library_file(value) && value.find("-packages/") == std::string::npos;
  }
  return false;
}

}  // namespace dcmt::scan
