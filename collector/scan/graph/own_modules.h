// Which modules of the inspected process are the program's own, and not of a library.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/scan/objects/python_text.h"

namespace dcmt::scan {

/// One module of each package is inspected, once: a program imports thousands. Not thread-safe.
class OwnModules {
 public:
  explicit OwnModules(const PythonLayout& layout) : layout_(layout) {}

  struct Module {
    Address module = 0;
    Address name = 0;  ///< the str of its name
  };
  /// Adds those that are new. To be called with all modules of a process before contains(): packages are judged by how
  /// many modules they have. The names are read ahead: after the imports of a program thousands are new, each on a page
  /// of its own.
  void add(const std::vector<Module>& modules, Mirror& memory, PythonText& text);

  /// Whether the file of the module lies outside Python and outside installed packages, and its package is not as large
  /// as that of a library. `__main__` is always the program's own.
  [[nodiscard]] bool contains(Address module) const;

 private:
  struct Package {
    std::optional<bool> is_outside;  ///< of Python and of installed packages, as the first module says that has a file
    int modules = 0;
  };
  void read_first_entries_ahead(const std::vector<Address>& modules, Mirror& memory) const;
  [[nodiscard]] std::optional<bool> is_outside(Address module, Mirror& memory, PythonText& text) const;

  const PythonLayout& layout_;
  std::map<std::string, Package> packages_;
  std::unordered_map<Address, Package*> modules_;
};

}  // namespace dcmt::scan
