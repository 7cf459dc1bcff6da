// The fields of numpy's arrays.
#pragma once

#include <cstdint>
#include <optional>

#include "collector/scan/memory/mirror.h"

namespace dcmt::scan {

struct OwnedData {
  Address data = 0;
  std::uint64_t bytes = 0;
};

/// Python objects that are the elements of an array, in words one after the other.
struct ObjectElements {
  Address first = 0;
  std::uint64_t count = 0;
};

/// Nothing if another object owns the array's data, or if the array is invalid, for example because it is being made.
[[nodiscard]] std::optional<OwnedData> owned_data(Mirror& memory, Address array);

/// Nothing if the elements are no Python objects, do not follow each other in memory, or if the array is invalid.
[[nodiscard]] std::optional<ObjectElements> object_elements(Mirror& memory, Address array);

}  // namespace dcmt::scan
