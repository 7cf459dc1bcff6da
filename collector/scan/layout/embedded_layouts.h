// The layout files of CPython inside the library; CMake generates them from layouts/.
#pragma once

#include <span>
#include <string_view>

namespace dcmt::scan {

extern const std::span<const std::string_view> kPythonLayouts;

}  // namespace dcmt::scan
