#include "collector/scan/graph/own_modules.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "collector/scan/objects/python_objects.h"
#include "trace/base/code_path.h"

namespace dcmt::scan {
namespace {

/// The import system's entries come first: __name__, __doc__, __package__, __loader__, __spec__, __file__.
constexpr std::uint64_t kFirstNames = 16;
/// Bytes to read ahead: of the keys of a module's dict, which has an index of 64 bytes, and of the str of a name or a
/// file.
constexpr Address kFirstEntriesSize = 32 + 64 + kFirstNames * 24, kTextSize = 128;

/// Limit of modules in a package of the program. A library can be anywhere: on PYTHONPATH, in a checkout. Its modules
/// lead to ten times as many objects as the program's variables.
constexpr int kMostOwnModules = 32;

/// Reads the first `size` bytes of each object in few calls.
void read_objects_ahead(const std::vector<Address>& objects, Address size, Mirror& memory) {
  std::vector<Range> ranges;
  for (const Address object : objects) ranges.push_back({object, object + size});
  memory.read_ahead(ranges);
}

/// Keys and values at the beginning of a dict.
std::vector<std::pair<Address, Address>> first_entries(Address keys, const PythonLayout& layout, Mirror& memory) {
  const DictKeys table = read_dict_keys(memory, layout, keys);
  std::vector<std::pair<Address, Address>> entries;
  for (std::uint64_t i = 0; table.ok && i < std::min(table.count, kFirstNames); ++i) {
    const Address entry = table.entries + i * table.entry_size() + table.key_offset();
    entries.emplace_back(memory.word(entry), memory.word(entry + 8));
  }
  return entries;
}

}  // namespace

void OwnModules::add(const std::vector<Module>& modules, Mirror& memory, PythonText& text) {
  std::vector<Module> fresh;
  std::vector<Address> names;
  for (const Module& each : modules) {
    if (modules_.contains(each.module)) continue;
    fresh.push_back(each);
    names.push_back(each.name);
  }
  read_objects_ahead(names, kTextSize, memory);

  std::vector<Address> first_of_package;
  for (const Module& each : fresh) {
    const std::string name = text.text(each.name);
    Package& package = packages_[name.substr(0, name.find('.'))];
    // Its dictionary may be torn, since the program adds variables meanwhile, and a module is judged only once.
    if (name == kMainModuleName) package.is_outside = true;
    if (package.modules++ == 0) first_of_package.push_back(each.module);
    modules_.emplace(each.module, &package);  // multiprocessing gives __main__ a second name, which does not count
  }
  read_first_entries_ahead(first_of_package, memory);
  for (const Module& each : fresh) {
    Package& package = *modules_[each.module];
    if (!package.is_outside) package.is_outside = is_outside(each.module, memory, text);
  }
}

bool OwnModules::contains(Address module) const {
  const auto found = modules_.find(module);
  return found != modules_.end() && found->second->is_outside.value_or(false) &&
         found->second->modules <= kMostOwnModules;
}

void OwnModules::read_first_entries_ahead(const std::vector<Address>& modules, Mirror& memory) const {
  const auto pointed_to = [&](const std::vector<Address>& objects, Address offset) {
    read_objects_ahead(objects, offset + sizeof(Address), memory);
    std::vector<Address> result;
    for (const Address object : objects) result.push_back(memory.word(object + offset));
    return result;
  };
  const std::vector<Address> tables = pointed_to(pointed_to(modules, layout_.module_dict), layout_.dict_keys);
  read_objects_ahead(tables, kFirstEntriesSize, memory);
  std::vector<Address> texts;
  for (const Address keys : tables) {
    for (const auto& [key, value] : first_entries(keys, layout_, memory)) texts.insert(texts.end(), {key, value});
  }
  read_objects_ahead(texts, kTextSize, memory);
}

std::optional<bool> OwnModules::is_outside(Address module, Mirror& memory, PythonText& text) const {
  const Address dict = memory.word(module + layout_.module_dict);
  for (const auto& [key_object, value_object] : first_entries(memory.word(dict + layout_.dict_keys), layout_, memory)) {
    const std::string key = text.text(key_object);
    const std::string value = key == "__file__" ? text.text(value_object) : "";
    // A namespace package has None as its __file__.
    if (!value.empty()) return !is_library_file(value) && value.find("-packages/") == std::string::npos;
  }
  return std::nullopt;
}

}  // namespace dcmt::scan
