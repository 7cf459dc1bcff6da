// The size of the kernel's pages: 4 KiB on x86-64; 4, 16 or 64 KiB on aarch64.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace dcmt {

inline std::uint64_t page_size() noexcept { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace dcmt
