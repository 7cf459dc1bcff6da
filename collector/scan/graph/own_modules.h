// Which modules of the inspected process are the program's own, and not of a library.
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "collector/scan/objects/python_text.h"

namespace dcmt::scan {

/// One module of each package is inspected, once: a program imports thousands. Not thread-safe.
class OwnModules {
 public:
  explicit OwnModules(const PythonLayout& layout) : layout_(layout) {}

  /// Whether the file of the module lies outside Python and outside installed packages. `__main__` is always the
  /// program's own.
  /// @param name  the str of its name
  [[nodiscard]] bool contains(Address module, Address name, Mirror& memory, PythonText& text);

 private:
  [[nodiscard]] bool inspect(Address module, Mirror& memory, PythonText& text) const;

  const PythonLayout& layout_;
  std::unordered_map<Address, bool> modules_;
  std::map<std::string, bool> packages_;
};

}  // namespace dcmt::scan
