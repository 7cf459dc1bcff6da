// Variables in the frames of running functions of C++.
#pragma once

#include <span>
#include <vector>

#include "collector/scan/objects/cpp_variable.h"

namespace dcmt::scan {

/// Not thread-safe.
class StackVariables {
 public:
  /// Takes those whose function runs. Where two of different names share an address, as variables of different blocks
  /// can, neither counts.
  StackVariables(std::span<const CppVariable> variables, Mirror& memory);

  /// nullptr: the address is in none.
  [[nodiscard]] const CppVariable* at(Address address) const;
  [[nodiscard]] bool empty() const { return variables_.empty(); }

 private:
  std::vector<CppVariable> variables_;  ///< by address
};

}  // namespace dcmt::scan
