// Finds whether an address is in the thread-local variables of a thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collector/scan/memory/mirror.h"
#include "collector/scan/objects/process_types.h"

namespace dcmt::scan {

/// Reads glibc's data of each thread: its control block, and from there the table of its modules' variables. On aarch64
/// the blocks lie elsewhere, and no variable is found.
/// Of threads without a Python thread state those are found whose stack glibc has made, behind a page that nobody may
/// read. Not thread-safe.
class ThreadLocals {
 public:
  ThreadLocals(Mirror& memory, const PythonLayout& layout, Address runtime);

  /// "thread 4711: thread_local"
  [[nodiscard]] std::optional<std::string> at(Address address) const;

 private:
  struct Thread {
    std::uint64_t id = 0;
    std::vector<Range> variables;  ///< of the libraries that were loaded at the program's start, and the table itself
  };
  void add(Mirror& memory, Address control, std::uint64_t id);
  void add_of_stacks(Mirror& memory);

  std::vector<Thread> threads_;
};

}  // namespace dcmt::scan
