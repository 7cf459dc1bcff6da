// Offsets in CPython's objects that no layout has, because they are equal in 3.11 to 3.15.
#pragma once

#include "collector/scan/memory/memory_source.h"

namespace dcmt::scan {

inline constexpr Address kCollectorHead = 16;                     ///< PyGC_Head precedes a collected object
inline constexpr Address kManagedDict = 24, kManagedValues = 32;  ///< before the object
inline constexpr Address kTextLength = 16, kTextState = 32;       ///< of a PyASCIIObject
inline constexpr Address kDequeFirstIndex = 40;

}  // namespace dcmt::scan
