#include "collector/scan/objects/numpy_array.h"

#include <algorithm>

namespace dcmt::scan {
namespace {

// Offsets of an array's fields (numpy/core/include/numpy/ndarraytypes.h, PyArrayObject_fields), and of the letter for
// the kind of its elements in PyArray_Descr. They have not changed since numpy's first version, numpy 2 included.
constexpr Address kData = 16, kDimensions = 24, kLengths = 32, kStrides = 40, kElements = 56, kFlags = 64;
constexpr Address kElementKind = 24;
constexpr std::uint32_t kOwnsData = 4;
constexpr std::uint32_t kContiguous = 1 | 2;  // in the order of C, or of Fortran
constexpr char kPythonObjects = 'O';
constexpr std::uint32_t kMostDimensions = 64;
constexpr std::uint64_t kLargest = std::uint64_t{1} << 46;

}  // namespace

std::optional<OwnedData> owned_data(Mirror& memory, Address array) {
  const auto dimensions = memory.value<std::uint32_t>(array + kDimensions);
  const auto flags = memory.value<std::uint32_t>(array + kFlags);
  if ((flags & kOwnsData) == 0 || dimensions == 0 || dimensions > kMostDimensions) return {};
  const Address lengths = memory.word(array + kLengths), strides = memory.word(array + kStrides);
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const std::uint64_t length = memory.word(lengths + 8 * i), stride = memory.word(strides + 8 * i);
    if (length == 0 || length > kLargest || stride > kLargest) return {};
    // If an array owns its data, the dimension with the largest extent covers all of it.
    if (stride != 0 && length > kLargest / stride) return {};
    bytes = std::max(bytes, length * stride);
  }
  return OwnedData{memory.word(array + kData), bytes};
}

std::optional<ObjectElements> object_elements(Mirror& memory, Address array) {
  if (memory.value<char>(memory.word(array + kElements) + kElementKind) != kPythonObjects) return {};
  const auto dimensions = memory.value<std::uint32_t>(array + kDimensions);
  const auto flags = memory.value<std::uint32_t>(array + kFlags);
  if (dimensions > kMostDimensions || (flags & kContiguous) == 0) return {};
  std::uint64_t count = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const std::uint64_t length = memory.word(memory.word(array + kLengths) + 8 * i);
    if (length > kLargest / std::max<std::uint64_t>(1, count)) return {};
    count *= length;
  }
  return ObjectElements{memory.word(array + kData), count};
}

}  // namespace dcmt::scan
