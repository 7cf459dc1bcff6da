#include "collector/scan/graph/own_modules.h"

#include <algorithm>
#include <string>

#include "collector/scan/objects/python_objects.h"
#include "trace/base/code_path.h"

namespace dcmt::scan {
namespace {

/// What the import system enters comes first: __name__, __doc__, __package__, __loader__, __spec__, __file__.
constexpr std::uint64_t kFirstEntries = 16;

/// Modules of a package that is the program's own. A library can lie anywhere: on PYTHONPATH, in a checkout. Its
/// modules lead to ten times as many objects as the variables of the program.
constexpr int kMostModules = 32;

}  // namespace

void OwnModules::add(Address module, Address name, Mirror& memory, PythonText& text) {
  const auto [found, fresh] = modules_.try_emplace(module);
  if (!fresh) return;
  const std::string full = text.text(name);
  Package& package = packages_[full.substr(0, full.find('.'))];
  if (!package.is_outside) package.is_outside = is_outside(module, memory, text);
  ++package.modules;
  found->second = &package;
}

bool OwnModules::contains(Address module) const {
  const auto found = modules_.find(module);
  return found != modules_.end() && found->second->is_outside.value_or(false) && found->second->modules <= kMostModules;
}

std::optional<bool> OwnModules::is_outside(Address module, Mirror& memory, PythonText& text) const {
  const Address dict = memory.word(module + layout_.module_dict);
  const DictKeys table = read_dict_keys(memory, layout_, memory.word(dict + layout_.dict_keys));
  if (!table.ok) return std::nullopt;
  for (std::uint64_t i = 0; i < std::min(table.count, kFirstEntries); ++i) {
    const Address entry = table.entries + i * table.entry_size() + table.key_offset();
    const std::string key = text.text(memory.word(entry));
    const std::string value = key == "__name__" || key == "__file__" ? text.text(memory.word(entry + 8)) : "";
    if (key == "__name__" && value == "__main__") return true;
    // A namespace package has None there.
    if (key == "__file__" && !value.empty())
      return !is_library_file(value) && value.find("-packages/") == std::string::npos;
  }
  return std::nullopt;
}

}  // namespace dcmt::scan
