// What Python's main thread is asked to call.
#pragma once

#include <dlfcn.h>

namespace dcmt::agent {

/// Py_AddPendingCall: callable from any thread, without the GIL. Python's main thread calls the function between two
/// instructions. Returns 0 if the call was queued; otherwise the queue is full.
using AddPendingCall = int (*)(int (*)(void*), void*);

/// That of the process's CPython; null without one. Takes the loader's lock.
inline AddPendingCall find_add_pending_call() noexcept {
  return reinterpret_cast<AddPendingCall>(dlsym(RTLD_DEFAULT, "Py_AddPendingCall"));
}

}  // namespace dcmt::agent
