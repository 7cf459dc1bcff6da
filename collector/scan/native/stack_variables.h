// Variables in the frames of running functions of C++.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "collector/scan/memory/mirror.h"

namespace dcmt::scan {

struct StackVariable {
  Range range;
  std::string path;        ///< "train: losses"
  std::string place;       ///< where it is declared: "train.cpp:12"
  bool is_tensor = false;  ///< no container, which may hold several
  /// While its function runs, the word at this address, by which the function returns, has this value.
  Address returns_at = 0, returns = 0;
};

/// Not thread-safe.
class StackVariables {
 public:
  /// Takes those whose function runs. Where two of different names share an address, as variables of different blocks
  /// can, neither counts.
  StackVariables(std::span<const StackVariable> variables, Mirror& memory);

  /// nullptr: the address is in none.
  [[nodiscard]] const StackVariable* at(Address address) const;
  [[nodiscard]] bool empty() const { return variables_.empty(); }

 private:
  std::vector<StackVariable> variables_;  ///< by address
};

}  // namespace dcmt::scan
