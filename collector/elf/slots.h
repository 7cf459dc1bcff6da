// Words of memory that hold a function's address, and the ledger of the changed ones.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dcmt::elf {

/// A range of memory with one protection (PROT_*), as the kernel lists it; empty: nothing is mapped.
struct Mapping {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  int protection = 0;
};

// Nothing here calls malloc: the caller may hold the loader's lock.

/// The mapping at `address`. It opens a file, which is a cancellation point; the caller must have disabled
/// cancellation.
Mapping mapping_of(std::uintptr_t address);

/// Enters the slot, its value and `value` into the ledger, then stores `value`. A read-only page is made writable
/// during the store. `around` is the mapping found by an earlier call; it is updated. False if the page cannot be
/// written, or the ledger is full: nothing is changed then. Not thread-safe.
bool write_slot(void** slot, void* value, Mapping& around);

/// See undo() in elf_patch.h.
std::size_t undo_slots(void* replacement);

}  // namespace dcmt::elf
