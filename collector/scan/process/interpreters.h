// Lists the interpreters of a CPython process and their threads.
#pragma once

#include "collector/scan/layout/python_layout.h"
#include "collector/scan/memory/mirror.h"

namespace dcmt::scan {

/// A longer list changed while it was read.
inline constexpr int kMostListed = 4096;

/// Calls `visit(interpreter)` with the address of each PyInterpreterState; `runtime` is the address of _PyRuntime;
/// 0: there is none.
template <class Visit>
void each_interpreter(Mirror& memory, const PythonLayout& layout, Address runtime, Visit visit) {
  Address interpreter = runtime == 0 ? 0 : memory.word(runtime + layout.runtime_interpreters);
  for (int i = 0; interpreter != 0 && i < kMostListed; ++i) {
    visit(interpreter);
    interpreter = memory.word(interpreter + layout.interpreter_next);
  }
}

/// Calls `visit(thread)` with the address of each PyThreadState of an interpreter.
template <class Visit>
void each_thread(Mirror& memory, const PythonLayout& layout, Address interpreter, Visit visit) {
  Address thread = memory.word(interpreter + layout.interpreter_threads);
  for (int i = 0; thread != 0 && i < kMostListed; ++i) {
    visit(thread);
    thread = memory.word(thread + layout.thread_next);
  }
}

}  // namespace dcmt::scan
