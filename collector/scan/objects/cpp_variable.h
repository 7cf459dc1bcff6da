// A variable of the program's own C++ code.
#pragma once

#include <string>

#include "collector/scan/memory/mirror.h"
#include "collector/scan/objects/cpp_shape.h"

namespace dcmt::scan {

struct CppVariable {
  Range range;             ///< empty: it keeps nothing itself, as a reference
  std::string path;        ///< "train: losses"
  std::string place;       ///< where it is declared: "train.cpp:12"
  bool is_tensor = false;  ///< no container, which may hold several
  /// Of a running function, while it runs: the word at this address, by which the function returns, has this value.
  Address returns_at = 0, returns = 0;
  /// And, of a block in it, the function that it has called returns to this place.
  Address calls_at = 0, calls = 0;
  ShapeIndex shape = 0;
  Address address = 0;

  /// False: its function has gone on.
  [[nodiscard]] bool exists(Mirror& memory) const {
    return (returns_at == 0 || memory.word(returns_at) == returns) && (calls_at == 0 || memory.word(calls_at) == calls);
  }
};

}  // namespace dcmt::scan
