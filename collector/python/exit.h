// The program's end, as Python sees it: before anything of it is torn down.
#pragma once

namespace dcmt::python_provider {

/// From here on the agent is notified when the program has ended. Needs the GIL; without it, nothing happens.
void watch_exit() noexcept;

}  // namespace dcmt::python_provider
