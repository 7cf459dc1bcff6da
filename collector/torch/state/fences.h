// Fences: whole pages of a block that nothing can read or write until the block is opened again. The first access is
// reported, the block is opened, and the access is repeated by the processor: the program goes on.
//
// Accesses by system calls do not fault: they fail with EFAULT while the block is closed. Before those that are hooked,
// the block is opened (touch_fences).
//
// Thread-safety: any thread may call these functions at any time. A forked child keeps the fences that it inherits, as
// its memory is closed, too.
#pragma once

#include <cstdint>

#include "collector/torch/state/key_table.h"

namespace dcmt::torch_provider {

struct Fence {
  std::uint64_t block;       ///< address of the block
  std::uint64_t begin, end;  ///< its closed pages
  KeyIndex key;
  const void* storage;  ///< for identity only
};

/// Called on the thread that has accessed a fence, in a signal handler, once for each fence. The block is open by then.
using OnTouch = void (*)(const Fence& fence, std::uint64_t address, bool writes) noexcept;

/// Installs the handler of SIGSEGV. Faults that are not in a fence go to the handler that was there before.
/// @return  false: the kernel refuses it
bool make_fences(OnTouch on_touch) noexcept;
/// Opens all fences, and restores the handler that was there before, unless somebody else has replaced ours.
void leave_fences() noexcept;

/// The whole pages of [begin, end); `begin` equals `end` if there is none.
struct Pages {
  std::uint64_t begin, end;
};
Pages whole_pages(std::uint64_t begin, std::uint64_t end) noexcept;

enum class Fencing : std::uint8_t {
  kDone,
  kThere,    ///< the block has a fence already
  kGone,     ///< the block has ended meanwhile
  kNoPage,   ///< the block has no whole page
  kFull,     ///< the table of fences is full
  kRefused,  ///< the kernel refuses it
};

/// The end of the memory of a fence's block, 0 if the block has ended. Called when open_fence() of the block waits.
using EndOf = std::uint64_t (*)(const Fence& fence) noexcept;

struct Fenced {
  Fencing how;
  Pages pages;  ///< that are closed
};
/// Closes the whole pages of a block.
/// @param fence  `begin` and `end` are ignored
Fenced place_fence(const Fence& fence, EndOf end_of) noexcept;

/// Overwrites a block. While it does, open_fence() waits for it.
/// @param fence, end_of  as of place_fence()
/// @return  kDone, kGone or kFull
Fencing overwrite(const Fence& fence, EndOf end_of, std::uint64_t bytes, std::uint8_t with) noexcept;

/// The calling thread is about to let the kernel read or write this memory: fences in it are touched.
void touch_fences(std::uint64_t begin, std::uint64_t bytes, bool writes) noexcept;

/// Call it before the memory of a block is freed or used again: opens it if it has a fence. Cheap if there is no fence.
void open_fence(std::uint64_t block) noexcept;

/// The number of fences that were placed and not opened by open_fence(); those that were touched count.
std::uint32_t fences() noexcept;

}  // namespace dcmt::torch_provider
