// Whether Python is importing torch when the recording starts on a thread of ours.
#pragma once

namespace dcmt::agent {

/// True if Python has begun to import torch and has not finished. During the import it registers operators, and a call
/// of an operator from another thread could find an incomplete entry. Waits for the GIL, like any thread of a Python
/// program. False without Python.
bool torch_is_being_imported() noexcept;

}  // namespace dcmt::agent
