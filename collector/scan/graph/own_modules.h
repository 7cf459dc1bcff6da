// Which modules of the inspected process are the program's own, and not of a library.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "collector/scan/objects/python_text.h"

namespace dcmt::scan {

/// One module of each package is inspected, once: a program imports thousands. Not thread-safe.
class OwnModules {
 public:
  explicit OwnModules(const PythonLayout& layout) : layout_(layout) {}

  /// To be called for each module of a process before contains(): packages are judged by how many modules they have.
  /// @param name  the str of its name
  void add(Address module, Address name, Mirror& memory, PythonText& text);

  /// Whether the file of the module lies outside Python and outside installed packages, and its package is not as large
  /// as that of a library. `__main__` is always the program's own.
  [[nodiscard]] bool contains(Address module) const;

 private:
  struct Package {
    std::optional<bool> is_outside;  ///< of Python and of installed packages, as the first module says that has a file
    int modules = 0;
  };
  [[nodiscard]] std::optional<bool> is_outside(Address module, Mirror& memory, PythonText& text) const;

  const PythonLayout& layout_;
  std::map<std::string, Package> packages_;
  std::unordered_map<Address, const Package*> modules_;
};

}  // namespace dcmt::scan
