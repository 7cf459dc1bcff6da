// The fields of a storage in memory. The process runs while it is read, so the fields may be of a storage that begins
// or ends meanwhile, or of other memory that has a virtual table's address in it.
#pragma once

#include <cstdint>

#include "collector/scan/layout/torch_layout.h"
#include "collector/scan/memory/mirror.h"

namespace dcmt::scan {

struct StorageFields {
  Address storage = 0;  ///< address of the StorageImpl
  Address data = 0;
  std::uint64_t bytes = 0;
  std::uint32_t references = 0;  ///< strong ones
  Address deleter = 0;           ///< the function that frees the data
  Address context = 0;           ///< what it is called with
  bool on_host = false;

  friend bool operator==(const StorageFields&, const StorageFields&) = default;
};

/// The fields of the StorageImpl at this address. Zeros if it cannot be read.
[[nodiscard]] StorageFields storage_fields(Address storage, Mirror& memory, const TorchLayout& torch);

/// True if the storage has memory, and its fields fit each other and the mappings of the process: the data of a storage
/// of the host are mapped as a whole, and the deleter is code.
[[nodiscard]] bool is_plausible(const StorageFields& fields, Mirror& memory);

/// True if the data are a block of torch's CPU allocator, which frees a block by its own address. A mapped file, or
/// memory of another library, is freed through an object of its own.
[[nodiscard]] bool is_cpu_block(const StorageFields& fields);

/// True if another reading of the same storage finds it alive, with the same memory.
[[nodiscard]] bool still_lives(const StorageFields& earlier, Mirror& fresh, const TorchLayout& torch);

}  // namespace dcmt::scan
