// What one pass over all memory in which a process keeps its objects leaves: malloc's chunks, the words that point to
// chunks, and the places that look like torch's tensors and storages.
#pragma once

#include <optional>
#include <vector>

#include "collector/scan/memory/memory_source.h"
#include "collector/scan/native/heap_chunks.h"
#include "collector/scan/native/heap_pointers.h"

namespace dcmt::scan {

struct SearchedMemory {
  HeapChunks heap;
  HeapPointers pointers;
  std::vector<Address> storages, tensors;  ///< what begins with the virtual table of one; it may have been freed

  /// Nothing if there is more memory than a reading may cost, or no torch library.
  /// @param data  ranges that contain no objects, such as the data of tensors
  /// @param with_stack  also the stack of the first thread
  [[nodiscard]] static std::optional<SearchedMemory> read(MemorySource& source, std::vector<Range> data,
                                                          bool with_stack);
};

}  // namespace dcmt::scan
