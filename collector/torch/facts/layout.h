// The offsets of the fields in torch's objects, as constants, and functions that read fields without taking references.
//
// The build computes the constants from the headers of the torch in use (layout_probe.cpp). Before anything is hooked,
// self_check.cpp verifies them on live objects, with torch's own accessors and exported symbols.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef DCMT_WITHOUT_TORCH  // unit tests, which need some layout
#include "collector/torch/testing/torch_layout.h"
#else
#include "collector/torch/facts/torch_layout.h"
#endif

namespace dcmt::torch_provider::layout {

inline constexpr std::size_t kTensorBytes = kTensorDtype;  ///< a copy of a tensor needs only fields before this offset
inline constexpr std::size_t kViewBytes = kViewHasBase + 8;  ///< both fields of a view lie before this offset

// Slots of virtual tables, counted from the table's symbol (offset to top, type info, then functions).
inline constexpr std::size_t kTableFunctions = 2;  ///< an object's first word points here
/// The deleting destructor of storages: in the base of both classes, destructors come first.
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

/// The number of c10::ScalarType of a tensor's elements.
inline std::uint32_t dtype_of(const void* tensor) noexcept {
  return static_cast<std::uint32_t>(word(tensor, kTensorDtype) & 0xffffu);
}

/// True if the tensor has autograd data: a node, a gradient, hooks.
inline bool has_autograd(const void* tensor) noexcept { return word(tensor, kTensorAutograd) != 0; }

/// The tensor's Python object, nullptr if it has none.
inline const void* python_object_of(const void* tensor) noexcept {
  return reinterpret_cast<const void*>(word(tensor, kTensorPyObject));
}

/// Bytes of memory of a storage; 0 if it has none, for a meta, fake or functional storage, and for a symbolic size.
inline std::uint64_t bytes_of(const void* storage) noexcept {
  if (data_of(storage) == 0) return 0;
  const std::uint64_t bytes = word(storage, kStorageBytes);
  return (bytes >> 62) == 0 ? bytes : 0;
}

/// True if the storage is on a CUDA device.
inline bool is_on_gpu(const void* storage) noexcept { return (word(storage, kStorageDevice) & 0xff) == 1; }
/// 0xff: none.
inline std::uint32_t device_index_of(const void* storage) noexcept { return word(storage, kStorageDevice) >> 8 & 0xff; }

/// True if the storage has a size of 0: it never had bytes, or they were freed.
inline bool is_empty(const void* storage) noexcept { return storage != nullptr && word(storage, kStorageBytes) == 0; }

}  // namespace dcmt::torch_provider::layout
