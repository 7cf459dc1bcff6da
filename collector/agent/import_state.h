// What Python is doing with torch, when the recording starts on a thread of ours.
#pragma once

namespace dcmt::agent {

/// Whether Python has begun to import torch and is not done: it registers operators all the while, and a call of one
/// from another thread meets half of an entry. Waits for the GIL, as any thread of a Python program does; without
/// Python, false.
bool torch_is_being_imported() noexcept;

}  // namespace dcmt::agent
