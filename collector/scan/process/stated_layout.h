// Compares a layout that was compiled with what the running interpreter states of itself.
#pragma once

#include "collector/scan/layout/python_layout.h"
#include "collector/scan/memory/mirror.h"
#include "trace/base/status.h"

namespace dcmt::scan {

/// Since 3.13, _PyRuntime begins with offsets for debuggers (_Py_DebugOffsets). Versions with the same minor number can
/// differ. Fails with kCannotRecord if a value that is stated there differs, or if the interpreter is free-threaded.
/// @param runtime  the address of _PyRuntime
[[nodiscard]] Status check_stated_layout(Mirror& memory, const PythonLayout& layout, Address runtime);

}  // namespace dcmt::scan
