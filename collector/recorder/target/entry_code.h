// Addresses of code, in another process, that a borrowed thread has to run.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "collector/scan/memory/process_memory.h"
#include "collector/scan/process/elf_symbols.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

struct EntryCode {
  std::uint64_t dlopen = 0;
  std::uint64_t memfd_create = 0;  ///< 0: its C library is older than 2.27
  std::uint64_t close = 0;
  /// CPython's loop that runs Python code; empty: a program without Python. A thread inside this loop, and not in a
  /// function called from it, holds no lock of the loader or of malloc, and no errno that is still to be read.
  scan::CodeRange python_loop;
  /// The C library's return from a signal handler (rt_sigreturn).
  std::uint64_t restore = 0;
};

/// kCannotRecord, with a text that follows the process's name, if its C library does not have such code.
Expected<EntryCode> find_entry_code(scan::ProcessMemory& memory);

/// True if the process has a python_loop and may be read.
bool has_python_loop(pid_t pid);

}  // namespace dcmt::recorder
