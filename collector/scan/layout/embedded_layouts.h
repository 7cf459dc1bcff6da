// The layout files of CPython that travel inside the library; generated from layouts/ when CMake runs.
#pragma once

#include <span>
#include <string_view>

namespace dcmt::scan {

extern const std::span<const std::string_view> kPythonLayouts;

}  // namespace dcmt::scan
