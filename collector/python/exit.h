// The program's end in Python: before any of its objects is destroyed.
#pragma once

namespace dcmt::python_provider {

/// From here on, the agent is notified when the program has ended. Needs the GIL; without it, does nothing.
void watch_exit() noexcept;

}  // namespace dcmt::python_provider
