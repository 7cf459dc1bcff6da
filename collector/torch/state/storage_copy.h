// Copies the fields of a storage that another thread may be ending. It reads through the kernel, which cannot fault.
#pragma once

#include <cstdint>

#include "collector/torch/facts/layout.h"
#include "collector/torch/state/sharing_set.h"

namespace dcmt::torch_provider {

/// The copy is valid only if the storage was still alive after the copy: the caller must check its claim on the storage
/// again.
class StorageCopy {
 public:
  explicit StorageCopy(const void* storage) noexcept
      : readable(storage != nullptr && read_memory(storage, fields_, sizeof fields_)) {}

  [[nodiscard]] std::uint64_t data() const noexcept { return readable ? layout::data_of(fields_) : 0; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return readable ? layout::bytes_of(fields_) : 0; }
  [[nodiscard]] std::uint64_t strong_count() const noexcept { return readable ? layout::strong_count(fields_) : 0; }
  [[nodiscard]] std::uint64_t python_object() const noexcept {
    return readable ? layout::word(fields_, layout::kStoragePyObject) : 0;
  }
  /// An object of the storage's type that may only be read.
  [[nodiscard]] const void* fields() const noexcept { return fields_; }
  [[nodiscard]] bool is_on_gpu() const noexcept { return readable && layout::is_on_gpu(fields_); }

 private:
  // Declared before `readable`, whose initializer uses it.
  alignas(8) char fields_[layout::kStoragePyObject + 8];

 public:
  const bool readable;
};

}  // namespace dcmt::torch_provider
