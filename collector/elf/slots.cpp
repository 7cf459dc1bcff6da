#include "collector/elf/slots.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace dcmt::elf {
namespace {

struct Change {
  void** slot;
  void* original;
  void* ours;
};

/// Leaked on purpose: hooks may run until the very end of the process.
std::vector<Change>& ledger() {
  static auto* changes = new std::vector<Change>();
  return *changes;
}

/// Original before slot: who reads the slot and finds ours must find the original here.
void enter(void** slot, void* value) {
  void* const before = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
  const auto known = std::ranges::find_if(
      ledger(), [&](const Change& change) { return change.slot == slot && change.ours == before; });
  if (known == ledger().end()) {
    ledger().push_back({slot, before, value});
  } else if (known->original == value) {
    ledger().erase(known);
  } else {
    known->ours = value;
  }
}

/// Calls `write` while the page of `slot` can be written to. False if it cannot be made so.
template <class Write>
bool with_open_page(void** slot, const Mapping& around, const Write& write) {
  const auto page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(slot) & ~(page_size - 1));
  const bool closed = (around.protection & PROT_WRITE) == 0;
  if (closed && mprotect(page, page_size, around.protection | PROT_WRITE) != 0) return false;
  write();
  if (closed) mprotect(page, page_size, around.protection);
  return true;
}

bool is_within(const Mapping& around, void** slot) {
  const auto address = reinterpret_cast<std::uintptr_t>(slot);
  return address >= around.low && address < around.high;
}

}  // namespace

Mapping mapping_of(std::uintptr_t address) {
  Mapping mapping;
  FILE* maps = fopen("/proc/self/maps", "re");
  if (maps == nullptr) return mapping;
  char line[512];
  while (fgets(line, sizeof line, maps) != nullptr) {
    std::uintptr_t low = 0;
    std::uintptr_t high = 0;
    char flags[5] = {};
    // The kernel writes these numbers. NOLINTNEXTLINE(cert-err34-c)
    if (sscanf(line, "%lx-%lx %4s", &low, &high, flags) == 3 && address >= low && address < high) {
      mapping = {
          low, high,
          (flags[0] == 'r' ? PROT_READ : 0) | (flags[1] == 'w' ? PROT_WRITE : 0) | (flags[2] == 'x' ? PROT_EXEC : 0)};
      break;
    }
  }
  fclose(maps);
  return mapping;
}

bool write_slot(void** slot, void* value, Mapping& around) {
  if (!is_within(around, slot)) around = mapping_of(reinterpret_cast<std::uintptr_t>(slot));
  if (around.protection == 0) return false;
  return with_open_page(slot, around, [&] {
    enter(slot, value);
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  });
}

std::size_t undo_slots(void* replacement) {
  std::size_t undone = 0;
  Mapping around;
  for (const Change& change : ledger()) {
    if (replacement != nullptr && change.ours != replacement) continue;
    // The object may be unloaded since.
    if (!is_within(around, change.slot)) around = mapping_of(reinterpret_cast<std::uintptr_t>(change.slot));
    if ((around.protection & PROT_READ) == 0) continue;
    with_open_page(change.slot, around, [&] {
      void* ours = change.ours;
      undone +=
          __atomic_compare_exchange_n(change.slot, &ours, change.original, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)
              ? 1
              : 0;
    });
  }
  std::erase_if(ledger(), [&](const Change& change) { return replacement == nullptr || change.ours == replacement; });
  return undone;
}

}  // namespace dcmt::elf
