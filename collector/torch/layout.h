// Where the fields of torch's objects lie, as data, and reads through it that take no reference.
//
// Measured on torch 2.11; before anything is hooked, self_check.cpp verifies the fields on live objects through torch's
// own accessors and the slots by the symbols that torch exports. Not verified: kVariableTensor, which needs Python, and
// the slots without a symbol (kTensorSlotCopyFrom, those of storages).
#pragma once

#include <cstddef>
#include <cstdint>

namespace dcmt::torch_provider::layout {

inline constexpr std::size_t kCount = 8;             ///< intrusive_ptr_target: combined counts
inline constexpr std::size_t kTensorStorage = 16;    ///< TensorImpl: StorageImpl*
inline constexpr std::size_t kTensorAutograd = 24;   ///< TensorImpl: AutogradMetaInterface*
inline constexpr std::size_t kTensorPyObject = 56;   ///< TensorImpl: PyObject*
inline constexpr std::size_t kTensorOffset = 152;    ///< TensorImpl: storage offset in elements
inline constexpr std::size_t kTensorElements = 160;  ///< TensorImpl: number of elements
inline constexpr std::size_t kTensorBytes = 168;     ///< all fields above lie before this
inline constexpr std::size_t kTensorDtype = 168;   ///< TensorImpl: TypeMeta: its index, for a c10::ScalarType the same
inline constexpr std::size_t kStorageData = 16;    ///< StorageImpl: data pointer
inline constexpr std::size_t kStorageDevice = 40;  ///< StorageImpl: type and index, a byte each
inline constexpr std::size_t kStorageBytes = 48;   ///< StorageImpl: size_bytes, or a tagged SymInt
inline constexpr std::size_t kStoragePyObject = 80;
inline constexpr std::size_t kVariableTensor = 16;  ///< THPVariable: TensorImpl*
inline constexpr std::size_t kViewBase = 200;       ///< DifferentiableViewMeta: base_ of backward_info_: TensorImpl*
inline constexpr std::size_t kViewHasBase = 248;    ///< DifferentiableViewMeta: whether backward_info_ is there
inline constexpr std::size_t kViewBytes = 256;      ///< both fields above lie before this

// Slots of virtual tables, counted from the table's symbol (offset to top, type info, then functions).
inline constexpr std::size_t kTableFunctions = 2;         ///< what an object's first word points to
inline constexpr std::size_t kTensorSlotRelease = 4;      ///< release_resources
inline constexpr std::size_t kTensorSlotDetach = 31;      ///< shallow_copy_and_detach(const VariableVersion&, bool)
inline constexpr std::size_t kTensorSlotDetachMove = 32;  ///< shallow_copy_and_detach(VariableVersion&&, bool)
inline constexpr std::size_t kTensorSlotCopyFrom = 33;    ///< shallow_copy_from
inline constexpr std::size_t kStorageSlotDelete = 3;      ///< deleting destructor
inline constexpr std::size_t kStorageSlotRelease = 4;
inline constexpr std::size_t kEngineSlotExecute = 4;  ///< autograd's Engine::execute

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
