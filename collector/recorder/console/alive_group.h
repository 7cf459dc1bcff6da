// A part of the memory that is alive now, for a view of the terminal.
#pragma once

#include <cstdint>
#include <string>

namespace dcmt::recorder {

/// Live blocks of one kind, or that one line has made.
struct AliveGroup {
  std::int64_t bytes = 0;
  std::int64_t blocks = 0;  ///< 0: not counted
  std::string name;         ///< "parameters", "app/train.py:12 main"
};

}  // namespace dcmt::recorder
