// Page-locked memory of the CPU that torch hands out for copies to and from a GPU: blocks of the CPU with an owner.
//
// Its allocator tells nobody. An allocation is seen in its virtual table; a block ends with the storage that has it.
// One that no storage ever had is known to have ended when its address is handed out again.
#pragma once

namespace dcmt::torch_provider {

/// Once libtorch_cuda is loaded. May be called again.
void follow_pinned_blocks() noexcept;

/// The storage ends. Inside the guard.
void end_pinned_block(const void* storage) noexcept;

}  // namespace dcmt::torch_provider
