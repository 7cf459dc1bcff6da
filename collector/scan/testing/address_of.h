#pragma once

#include "collector/scan/memory/memory_source.h"

namespace dcmt::scan {

inline Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

}  // namespace dcmt::scan
