// Names for members of C types of CPython and numpy that no header declares: a path has ".fget" instead of "+16".
#pragma once

#include <cstdint>
#include <string_view>

namespace dcmt::scan {

/// The name of the member at byte `offset` of objects of the type `type_name` (tp_name); empty if it is not in the
/// table.
[[nodiscard]] std::string_view known_member(std::string_view type_name, std::int64_t offset);

}  // namespace dcmt::scan
