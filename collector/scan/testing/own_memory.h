// This process's memory, for tests whose objects are in this process.
#pragma once

#include <unistd.h>

#include "collector/scan/memory/mirror.h"
#include "collector/scan/memory/process_memory.h"

namespace dcmt::scan {

/// The memory as it is when this object is made: what is allocated later may be in pages that it does not know, as the
/// heap grows. Make it after the objects that it shall read.
class OwnMemory {
 public:
  [[nodiscard]] Mirror& mirror() { return mirror_; }

 private:
  Expected<ProcessMemory> source_ = ProcessMemory::open(getpid());
  Mirror mirror_{*source_};
};

}  // namespace dcmt::scan
