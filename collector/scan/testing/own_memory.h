// This process's memory, for tests whose objects are in this process.
#pragma once

#include <unistd.h>

#include "collector/scan/memory/mirror.h"
#include "collector/scan/memory/process_memory.h"

namespace dcmt::scan {

/// Reads the mappings that there are when this object is made. The heap may get more pages later, and objects in these
/// cannot be read. Make it after the objects that it shall read.
class OwnMemory {
 public:
  [[nodiscard]] Mirror& mirror() { return mirror_; }

 private:
  Expected<ProcessMemory> source_ = ProcessMemory::open(getpid());
  Mirror mirror_{*source_};
};

}  // namespace dcmt::scan
