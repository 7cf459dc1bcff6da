// Decides which modules of the inspected process belong to the program, as opposed to a library.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/scan/objects/python_text.h"

namespace dcmt::scan {

/// Of the program's module in sys.modules.
inline constexpr std::string_view kMainModuleName = "__main__";

/// Inspects one module of each package, once, because a program imports thousands. Not thread-safe.
class OwnModules {
 public:
  explicit OwnModules(const PythonLayout& layout) : layout_(layout) {}

  struct Module {
    Address module = 0;
    Address name = 0;  ///< the str with its name
  };
  /// Adds new modules. Call it with all modules of a process before contains(): a package is judged by its number of
  /// modules. It reads the names ahead: after a program's imports, thousands are new, each on a page of its own.
  void add(const std::vector<Module>& modules, Mirror& memory, PythonText& text);

  /// True if the module's file is outside Python and outside installed packages, and its package has fewer modules than
  /// a library's. `__main__` always belongs to the program.
  [[nodiscard]] bool contains(Address module) const;

 private:
  struct Package {
    std::optional<bool> is_outside;  ///< outside Python and installed packages, by the first module that has a file
    int modules = 0;
  };
  void read_first_entries_ahead(const std::vector<Address>& modules, Mirror& memory) const;
  [[nodiscard]] std::optional<bool> is_outside(Address module, Mirror& memory, PythonText& text) const;

  const PythonLayout& layout_;
  std::map<std::string, Package> packages_;
  std::unordered_map<Address, Package*> modules_;
};

}  // namespace dcmt::scan
