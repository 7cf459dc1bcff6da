// The fields of a storage that another thread may be ending: read through the kernel, which cannot fault.
#pragma once

#include <cstdint>

#include "collector/torch/layout.h"
#include "collector/torch/sharing_set.h"

namespace dcmt::torch_provider {

/// What it holds is true only if the storage is alive after it was made: whoever makes one asks then for its claim on
/// the storage once more.
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
  [[nodiscard]] bool is_on_gpu() const noexcept { return readable && layout::is_on_gpu(fields_); }

 private:
  // Before `readable`, which is made of it.
  alignas(8) char fields_[layout::kStoragePyObject + 8];

 public:
  const bool readable;
};

}  // namespace dcmt::torch_provider
