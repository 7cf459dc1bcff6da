// Where the fields of torch's objects lie, as data, and reads through it that take no reference.
//
// The constants are made at build from the headers of the torch in use (layout_probe.cpp). Before anything is hooked,
// self_check.cpp verifies them on live objects, through torch's own accessors and the symbols that torch exports.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef DCMT_WITHOUT_TORCH  // unit tests, which need some layout
#include "collector/torch/testing/torch_layout.h"
#else
#include "collector/torch/torch_layout.h"
#endif

namespace dcmt::torch_provider::layout {

inline constexpr std::size_t kTensorBytes = kTensorDtype;  ///< all fields that a copy of a tensor needs lie before this
inline constexpr std::size_t kViewBytes = kViewHasBase + 8;  ///< both fields of a view lie before this

// Slots of virtual tables, counted from the table's symbol (offset to top, type info, then functions).
inline constexpr std::size_t kTableFunctions = 2;  ///< what an object's first word points to
/// The deleting destructor of storages: destructors come first in what both classes are derived from.
inline constexpr std::size_t kStorageSlotDelete = kStorageSlotRelease - 1;

inline std::uint64_t word(const void* object, std::size_t offset) noexcept {
  return *reinterpret_cast<const std::uint64_t*>(static_cast<const char*>(object) + offset);
}

inline std::uint64_t strong_count(const void* object) noexcept { return word(object, kCount) & 0xffffffffu; }

inline const void* storage_of(const void* tensor) noexcept {
  return reinterpret_cast<const void*>(word(tensor, kTensorStorage));
}

inline std::uint64_t data_of(const void* storage) noexcept {
  return storage != nullptr ? word(storage, kStorageData) : 0;
}

/// The number of c10::ScalarType, for a tensor of one.
inline std::uint32_t dtype_of(const void* tensor) noexcept {
  return static_cast<std::uint32_t>(word(tensor, kTensorDtype) & 0xffffu);
}

/// Whether the tensor has autograd's own: a node, a gradient, hooks.
inline bool has_autograd(const void* tensor) noexcept { return word(tensor, kTensorAutograd) != 0; }

/// The tensor's Python object, nullptr if it has none.
inline const void* python_object_of(const void* tensor) noexcept {
  return reinterpret_cast<const void*>(word(tensor, kTensorPyObject));
}

/// Bytes of memory that a storage has: 0 for none, for a meta, fake or functional one and for a symbolic size.
inline std::uint64_t bytes_of(const void* storage) noexcept {
  if (data_of(storage) == 0) return 0;
  const std::uint64_t bytes = word(storage, kStorageBytes);
  return (bytes >> 62) == 0 ? bytes : 0;
}

/// True if the storage is on a CUDA device.
inline bool is_on_gpu(const void* storage) noexcept { return (word(storage, kStorageDevice) & 0xff) == 1; }
/// 0xff: none.
inline std::uint32_t device_index_of(const void* storage) noexcept { return word(storage, kStorageDevice) >> 8 & 0xff; }

/// True if the storage says that it has no bytes: it never had any, or they were given back.
inline bool is_empty(const void* storage) noexcept { return storage != nullptr && word(storage, kStorageBytes) == 0; }

}  // namespace dcmt::torch_provider::layout
