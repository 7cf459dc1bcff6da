// The bytes of CPU blocks that are in a sum (small_blocks.h), by their address, without a lock.
//
// A block stands in a table, in a bucket of one cache line by its address. Torch works on more memory than a cache has
// between two looks at such a line, so most looks would wait for it; and most blocks end soon, on the thread that
// allocated them. So a block comes first to a line of its thread's own, and to the table when newer ones need its
// place.
#pragma once

#include <atomic>
#include <cstdint>

namespace dcmt::torch_provider {

/// The latest blocks of one thread. It alone adds; any thread takes out.
struct alignas(64) RecentBlocks {
  static constexpr std::uint32_t kBlocks = 7;
  std::atomic<std::uint64_t> blocks[kBlocks];  ///< as packed; 0: empty
  std::uint32_t moves_next;                    ///< the place that is needed next if none is empty
  std::atomic<std::uint32_t> owned;            ///< a thread has it
};
static_assert(sizeof(RecentBlocks) == 64);

bool make_block_table() noexcept;
/// None is known any more. The caller has emptied the memory of arena().
void forget_blocks() noexcept;
/// The table, as trace/spool/small_sizes.h describes it.
const void* block_table() noexcept;

/// False if it cannot be known: too large, not aligned to 64 bytes, or there is no room.
/// @param recent  the calling thread's, nullptr at first
bool know_block(RecentBlocks*& recent, std::uint64_t address, std::uint64_t bytes) noexcept;

/// Takes the block out. Only the thread that gives it back, or whose tensor has it, calls this.
/// @param recent  the calling thread's, or nullptr
/// @return its bytes, 0: it is not known
std::uint64_t forget_block(RecentBlocks* recent, std::uint64_t address) noexcept;

/// The thread ends. What is in there stays known.
void give_back_recent_blocks(RecentBlocks* recent) noexcept;

}  // namespace dcmt::torch_provider
