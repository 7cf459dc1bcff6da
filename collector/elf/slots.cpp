#include "collector/elf/slots.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "collector/elf/page_list.h"

namespace dcmt::elf {
namespace {

struct Change {
  void** slot;
  void* original;
  void* ours;
};

constinit PageList<Change> g_ledger;

/// Enters the original before the slot is written: a thread that reads our function in the slot must find the original
/// here. False if there is no space.
bool enter(void** slot, void* value) {
  void* const before = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
  const auto known = std::ranges::find_if(
      g_ledger, [&](const Change& change) { return change.slot == slot && change.ours == before; });
  if (known == g_ledger.end()) return g_ledger.add({slot, before, value});
  if (known->original == value) {
    g_ledger.remove(known);
  } else {
    known->ours = value;
  }
  return true;
}

/// Calls `write` while the page of `slot` is writable. False if it cannot be made writable.
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

/// Reads the kernel's list of mappings character by character.
class MapsText {
 public:
  MapsText() : file_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~MapsText() {
    if (file_ >= 0) close(file_);
  }
  MapsText(const MapsText&) = delete;
  MapsText& operator=(const MapsText&) = delete;

  /// Returns '\0' at the end.
  char next() {
    if (at_ == size_) {
      size_ = file_ < 0 ? 0 : read(file_, text_, sizeof text_);
      at_ = 0;
    }
    return at_ < size_ ? text_[at_++] : '\0';
  }
  /// Reads a hexadecimal number and the character that follows it.
  std::uintptr_t number() {
    std::uintptr_t value = 0;
    for (char letter = next();; letter = next()) {
      if (letter >= '0' && letter <= '9') {
        value = value * 16 + static_cast<std::uintptr_t>(letter - '0');
      } else if (letter >= 'a' && letter <= 'f') {
        value = value * 16 + static_cast<std::uintptr_t>(letter - 'a') + 10;
      } else {
        return value;
      }
    }
  }
  void skip_line() {
    for (char letter = next(); letter != '\n' && letter != '\0';) letter = next();
  }

 private:
  int file_;
  char text_[4096];
  ssize_t size_ = 0;
  ssize_t at_ = 0;
};

}  // namespace

Mapping mapping_of(std::uintptr_t address) {
  MapsText maps;
  for (;;) {
    const std::uintptr_t low = maps.number();
    const std::uintptr_t high = maps.number();
    if (high == 0) return {};
    const bool can_read = maps.next() == 'r';
    const bool can_write = maps.next() == 'w';
    const bool can_execute = maps.next() == 'x';
    if (address >= low && address < high) {
      return {low, high, (can_read ? PROT_READ : 0) | (can_write ? PROT_WRITE : 0) | (can_execute ? PROT_EXEC : 0)};
    }
    maps.skip_line();
  }
}

bool write_slot(void** slot, void* value, Mapping& around) {
  if (!is_within(around, slot)) around = mapping_of(reinterpret_cast<std::uintptr_t>(slot));
  if (around.protection == 0) return false;
  bool is_entered = false;
  const bool is_open = with_open_page(slot, around, [&] {
    is_entered = enter(slot, value);
    if (is_entered) __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  });
  return is_open && is_entered;
}

std::size_t undo_slots(void* replacement) {
  std::size_t undone = 0;
  Mapping around;
  for (const Change& change : g_ledger) {
    if (replacement != nullptr && change.ours != replacement) continue;
    // The object may have been unloaded since.
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
  for (Change* change = g_ledger.begin(); change != g_ledger.end();) {
    if (replacement == nullptr || change->ours == replacement) {
      g_ledger.remove(change);
    } else {
      ++change;
    }
  }
  return undone;
}

}  // namespace dcmt::elf
