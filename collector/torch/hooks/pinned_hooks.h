// Observes page-locked CPU memory that torch allocates for copies to and from a GPU: blocks of the CPU with an owner.
//
// Torch's allocator of this memory reports no events. A hook in its virtual table observes allocations; a block ends
// together with its storage. If a block never had a storage, its end is noticed when its address is allocated again.
#pragma once

#include <cstdint>

namespace dcmt::torch_provider {

/// Call it when libtorch_cuda is loaded. It may be called again.
void follow_pinned_blocks() noexcept;

/// The block's storage ends or gets another block. Call it inside the guard. 0: does nothing.
void end_pinned_block(std::uint64_t address) noexcept;

}  // namespace dcmt::torch_provider
