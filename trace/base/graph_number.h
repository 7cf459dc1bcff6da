// The number of a graph: the first part of a parameter's name.
#pragma once

#include <cstdint>

namespace dcmt {

/// True if the number is the address of an object, as DeepCompile's are: another process has another number for the
/// same graph. Linux maps nothing below.
constexpr bool is_address_of_graph(std::int64_t graph) {
  constexpr std::int64_t kLowestAddress = 65'536;
  return graph >= kLowestAddress;
}

}  // namespace dcmt
