// A trace of a program on a GPU.
#pragma once

#include <cstdint>

#include "analyzer/testing/test_trace.h"

namespace dcmt::testing {

/// A trace of a followed allocator, without its segments. The default stream's blocks, if nothing else is said.
class GpuTrace : public TestTrace {
 public:
  GpuTrace() {
    gpu = 0;
    stream = 0;
  }
  /// At a line of the program's, on a stream.
  Handle at(std::int64_t line, std::int64_t on, std::int64_t bytes) {
    stack = {{"/home/user/train.py", "main", line}};
    stream = on;
    return allocate(bytes);
  }
};

}  // namespace dcmt::testing
