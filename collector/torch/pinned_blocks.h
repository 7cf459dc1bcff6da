// Page-locked memory of the CPU that torch hands out for copies to and from a GPU: blocks of the CPU with an owner.
//
// Its allocator tells nobody. An allocation is seen in its virtual table; a block ends with the storage that has it.
// One that no storage ever had is known to have ended when its address is handed out again.
#pragma once

#include <cstdint>

namespace dcmt::torch_provider {

/// Once libtorch_cuda is loaded. May be called again.
void follow_pinned_blocks() noexcept;

/// The address of the block that the storage has, 0 if it has none: not if it only points into one, as numpy's arrays
/// can.
std::uint64_t pinned_block_of(const void* storage) noexcept;

/// Who has such a block; nullptr if the storage has none.
const char* pinned_owner(const void* storage) noexcept;

/// The storage that has it ends, or takes another one. Inside the guard. 0: nothing happens.
void end_pinned_block(std::uint64_t address) noexcept;

}  // namespace dcmt::torch_provider
