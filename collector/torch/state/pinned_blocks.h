// The blocks of page-locked CPU memory that torch allocates for copies to and from a GPU.
#pragma once

#include <cstdint>

namespace dcmt::torch_provider {

/// What owns these blocks, in records.
inline constexpr char kPinnedOwner[] = "pinned host memory";

/// The function that frees a block; torch has one for all of them.
using PinnedDeleter = void (*)(void*);

/// Adds the block. False if there are too many.
bool add_pinned_block(std::uint64_t address, PinnedDeleter deleter) noexcept;
/// False if there is no such block.
bool remove_pinned_block(std::uint64_t address) noexcept;

/// The address of the storage's block; 0 if it has none. A storage that only points into a block has none; arrays of
/// numpy can do that.
std::uint64_t pinned_block_of(const void* storage) noexcept;

/// The owner's name of such a block; nullptr if the storage has none.
const char* pinned_owner(const void* storage) noexcept;

}  // namespace dcmt::torch_provider
