// Records of blocks. Call these functions inside the guard.
#pragma once

#include <cstdint>

namespace dcmt::torch_provider {

/// @param device  as in wire::BlockRecord  @param small  in `lifetimes`, a block that counts only for the curve: the
/// operators around it get no records
void write_block_begin(std::uint32_t device, const void* address, std::uint64_t bytes, bool small) noexcept;

/// @param flags  as in wire::BlockRecord::bytes of a free
void write_block_end(std::uint32_t device, const void* address, std::uint64_t flags, bool small) noexcept;

/// @param owner  static text
void write_block_owner(std::uint32_t device, const void* address, const char* owner) noexcept;

/// The storage is tracked although it is small: removes its block from the sum of small blocks, and records it as if it
/// were allocated now.
void record_block_of(const void* storage) noexcept;

}  // namespace dcmt::torch_provider
