// The program's end in Python: before any of its objects is destroyed.
#pragma once

namespace dcmt::python_provider {

/// From here on, the agent is notified when the program has ended. Needs the GIL; without it, as in a program of C++
/// that has not started its Python yet, code_runs() sees to it.
void watch_exit() noexcept;
/// Python runs code that was not seen before.
void code_runs() noexcept;

}  // namespace dcmt::python_provider
