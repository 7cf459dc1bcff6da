// Torch's lock of its callbacks, which forks must not leave taken.
#pragma once

namespace dcmt::torch_provider {

/// Calls `add`, which adds a callback to torch's, and takes the lock that it took over every fork from here on. A
/// thread takes that lock at its first operator and whenever callbacks have changed, and the engine in every backward:
/// a child that is forked meanwhile inherits it taken, without the thread that would give it back. So it is without us;
/// but with a callback of ours a thread holds it for longer.
/// @return false if the lock is not found: forks are then as dangerous as they would be
bool keep_callback_lock_over_forks(void (*add)());

}  // namespace dcmt::torch_provider
