// The bytes of Python objects, by the layouts of their types.
#pragma once

#include <cstdint>

#include "collector/scan/objects/process_types.h"

namespace dcmt::scan {

/// Computes what the allocators were asked for when an object was made and filled: its header of the collector, its
/// fields, and the tables that it alone owns (of a dict, a list, a set, a deque, an array). What it refers to does not
/// count. Of a type of another library, these are the fields. Not thread-safe.
class ObjectSizes {
 public:
  ObjectSizes(Mirror& memory, ProcessTypes& types) : memory_(memory), layout_(types.python) {}

  [[nodiscard]] std::uint64_t of(Address object, const PythonType& type);

 private:
  [[nodiscard]] std::uint64_t dict_tables(Address object);
  [[nodiscard]] std::uint64_t attribute_values(Address object, const PythonType& type);
  [[nodiscard]] std::uint64_t values(Address keys, bool in_object) const;
  /// A text with its fields.
  [[nodiscard]] std::uint64_t text(Address object, const PythonType& type);
  [[nodiscard]] std::uint64_t frame_values(Address frame);
  [[nodiscard]] std::uint64_t items(Address object, const PythonType& type);

  Mirror& memory_;
  const PythonLayout& layout_;
};

}  // namespace dcmt::scan
