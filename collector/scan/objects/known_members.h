// Names for members of C types of CPython and numpy that no header declares: a path has ".fget" instead of "+16".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dcmt::scan {

struct KnownMember {
  std::int64_t offset = 0;  ///< in the object; bytes
  std::string name;         ///< as in a path: ".fget", " (iterates)"; empty: an array of numbers, which holds nothing
};

/// The members that objects of the type `type_name` (tp_name) have; empty if the type is not in the table.
[[nodiscard]] std::vector<KnownMember> known_members(std::string_view type_name);

}  // namespace dcmt::scan
