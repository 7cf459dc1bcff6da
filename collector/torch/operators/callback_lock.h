// Torch's lock of its callbacks. A forked child must not inherit it locked.
#pragma once

namespace dcmt::torch_provider {

/// Calls `add`, which adds a callback to torch, and finds the lock that torch acquires for that. From here on, every
/// fork holds this lock. A thread acquires it at its first operator and after each change of the callbacks; the engine
/// acquires it in every backward. A child that is forked meanwhile would inherit the lock locked, without the thread
/// that unlocks it. That can happen without us, too, but with a callback of ours a thread holds the lock for longer.
/// @return false if the lock is not found: forks are then as dangerous as they are without this function
bool keep_callback_lock_over_forks(void (*add)());

}  // namespace dcmt::torch_provider
