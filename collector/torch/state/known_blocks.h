// The bytes of CPU blocks that count in a sum (small_blocks.h), by address, without a lock.
//
// A block is in a table, in a bucket of one cache line that its address selects. Between two accesses of such a line,
// torch uses more memory than a cache has, so most accesses would wait for memory. But most blocks end soon, on the
// thread that allocated them. So a block is first in a line that belongs to its thread, and moves to the table when
// newer blocks need its place.
#pragma once

#include <atomic>
#include <cstdint>

namespace dcmt::torch_provider {

/// The latest blocks of one thread. Only this thread adds; any thread may remove.
struct alignas(64) RecentBlocks {
  static constexpr std::uint32_t kBlocks = 7;
  std::atomic<std::uint64_t> blocks[kBlocks];  ///< packed words; 0: empty
  std::uint32_t moves_next;                    ///< the place to free next if none is empty
  std::atomic<std::uint32_t> owned;            ///< true while a thread owns it
};
static_assert(sizeof(RecentBlocks) == 64);

bool make_block_table() noexcept;
/// Forgets all blocks. The caller has emptied the memory of arena().
void forget_blocks() noexcept;
/// The table, as trace/spool/small_sizes.h describes it.
const void* block_table() noexcept;

/// False if the block cannot be tracked: it is too large, it is not aligned to 64 bytes, or the table is full.
/// @param recent  the calling thread's, nullptr at first
bool track_block(RecentBlocks*& recent, std::uint64_t address, std::uint64_t bytes) noexcept;

/// Removes the block. Only the thread that frees it, or whose tensor has it, may call this.
/// @param recent  the calling thread's, or nullptr
/// @return its bytes; 0: it is not tracked
std::uint64_t forget_block(RecentBlocks* recent, std::uint64_t address) noexcept;

/// The thread ends. Its blocks stay tracked.
void give_back_recent_blocks(RecentBlocks* recent) noexcept;

}  // namespace dcmt::torch_provider
