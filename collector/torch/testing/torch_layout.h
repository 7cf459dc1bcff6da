// A layout for unit tests that are built without torch: that of 2.11.
#pragma once

#include <cstddef>

namespace dcmt::torch_provider::layout {

inline constexpr std::size_t kCount = 8;
inline constexpr std::size_t kTensorStorage = 16;
inline constexpr std::size_t kTensorAutograd = 24;
inline constexpr std::size_t kTensorPyObject = 56;
inline constexpr std::size_t kTensorOffset = 152;
inline constexpr std::size_t kTensorElements = 160;
inline constexpr std::size_t kTensorDtype = 168;
inline constexpr std::size_t kStorageData = 16;
inline constexpr std::size_t kStorageDevice = 40;
inline constexpr std::size_t kStorageBytes = 48;
inline constexpr std::size_t kStoragePyObject = 80;
inline constexpr std::size_t kViewBase = 200;
inline constexpr std::size_t kViewHasBase = 248;
inline constexpr std::size_t kVariableTensor = 16;
inline constexpr std::size_t kTensorSlotRelease = 4;
inline constexpr std::size_t kTensorSlotDetach = 31;
inline constexpr std::size_t kTensorSlotDetachMove = 32;
inline constexpr std::size_t kTensorSlotCopyFrom = 33;
inline constexpr std::size_t kStorageSlotRelease = 4;
inline constexpr std::size_t kEngineSlotExecute = 4;

}  // namespace dcmt::torch_provider::layout
