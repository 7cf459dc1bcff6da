// Words of memory that hold the address of a function, and the ledger of those that were changed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dcmt::elf {

/// A stretch of memory of one protection (PROT_*), as the kernel says; empty: nothing is mapped.
struct Mapping {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  int protection = 0;
};

// Nothing here calls malloc: the caller may hold the loader's lock.

/// The mapping at `address`. Opens a file: a place where a thread can be cancelled, which the caller rules out.
Mapping mapping_of(std::uintptr_t address);

/// Enters the slot, what it has and `value` into the ledger, then stores `value`; a page that is not writable is made
/// so for as long as that takes. `around` is what is known of the place, and is kept up to date. False if the page
/// cannot be written, or the ledger has no room: then nothing is changed. Not thread-safe.
bool write_slot(void** slot, void* value, Mapping& around);

/// See undo() in elf_patch.h.
std::size_t undo_slots(void* replacement);

}  // namespace dcmt::elf
