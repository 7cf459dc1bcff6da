#include "collector/python/codes.h"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>

#include "collector/agent/provider.h"
#include "collector/python/hash.h"
#include "collector/python/text.h"

#if PY_VERSION_HEX < 0x030C0000
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_SetExtra _PyCode_SetExtra
#endif

namespace dcmt::python_provider {
namespace {

constexpr std::size_t kEntries = 65536;
constexpr std::size_t kProbes = 32;
constexpr std::uint64_t kCodeSeed = 0x636F6465;  // keeps code ids apart from other ids made of the same words

/// One per address that ever was a code object. Never removed: an address keeps its generation.
struct Entry {
  std::atomic<std::uintptr_t> address;
  std::atomic<std::uint64_t> armed_id;   ///< the id while armed, else 0
  std::atomic<std::uint64_t> described;  ///< the id published last
  std::atomic<std::uint64_t> generation;
};

Entry* g_entries = nullptr;
std::atomic<std::uint64_t> g_epoch{0};

constexpr Py_ssize_t kNotAsked = -1;
constexpr Py_ssize_t kRefused = -2;
std::atomic<Py_ssize_t> g_extra_index{kNotAsked};

/// Called by CPython with the GIL held when a code object dies; null for code objects that were never armed.
void on_code_death(void* extra) {
  if (extra == nullptr) return;
  auto* const entry = static_cast<Entry*>(extra);
  entry->armed_id.store(0, std::memory_order_relaxed);
  entry->generation.fetch_add(1, std::memory_order_relaxed);
  g_epoch.fetch_add(1, std::memory_order_release);
}

Entry* find(std::uintptr_t address) noexcept {
  if (g_entries == nullptr) return nullptr;
  const std::size_t start = mix(address, kCodeSeed) % kEntries;
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    Entry& entry = g_entries[(start + probe) % kEntries];
    std::uintptr_t seen = entry.address.load(std::memory_order_relaxed);
    if (seen == 0) entry.address.compare_exchange_strong(seen, address, std::memory_order_relaxed);
    if (seen == 0 || seen == address) return &entry;
  }
  return nullptr;
}

/// Needs the GIL, which also makes the index unique. The index is asked for once; there are 255 for all tools together.
bool arm(PyCodeObject* code, Entry* entry) noexcept {
  Py_ssize_t index = g_extra_index.load(std::memory_order_relaxed);
  if (index == kNotAsked) {
    index = PyUnstable_Eval_RequestCodeExtraIndex(on_code_death);
    if (index < 0) index = kRefused;
    g_extra_index.store(index, std::memory_order_relaxed);
  }
  if (index == kRefused) return false;
  if (PyUnstable_Code_SetExtra(reinterpret_cast<PyObject*>(code), index, entry) == 0) return true;
  PyErr_Clear();  // no memory: it stays unarmed
  return false;
}

/// False if there was no room: the next sight tries again.
bool publish(const PyCodeObject* code, std::uint64_t id) noexcept {
  const std::uint64_t file = Text(code->co_filename).intern();
  const std::uint64_t function = Text(code->co_qualname).intern();
  void* const room = agent::begin_record(wire::RecordType::kCode, sizeof(wire::CodeRecord),
                                         static_cast<std::uint32_t>(code->co_firstlineno));
  if (room == nullptr) {
    agent::forget(id);
    return false;
  }
  auto* const record = static_cast<wire::CodeRecord*>(room);
  record->id = id;
  record->file = file;
  record->function = function;
  agent::commit_record(room);
  return true;
}

}  // namespace

std::uint64_t fingerprint(const PyCodeObject* code) noexcept {
  const auto word = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
  std::uint64_t hash = mix(static_cast<std::uint64_t>(code->co_firstlineno), kCodeSeed);
  hash = mix(hash, word(code->co_filename));
  hash = mix(hash, word(code->co_name));
  hash = mix(hash, word(code->co_linetable));
  return mix(hash, word(code->co_consts));
}

bool arming_possible() noexcept { return g_extra_index.load(std::memory_order_relaxed) != kRefused; }

CodeIdentity identify(PyCodeObject* code, bool have_gil) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  Entry* const entry = find(address);
  if (entry != nullptr) {
    if (const std::uint64_t id = entry->armed_id.load(std::memory_order_relaxed); id != 0) return {id, true};
  }
  const std::uint64_t generation = entry != nullptr ? entry->generation.load(std::memory_order_relaxed) : 0;
  const std::uint64_t id = as_id(mix(mix(address, generation), fingerprint(code)));
  if (entry == nullptr) {
    if (agent::first_sight(id)) publish(code, id);
    return {id, false};
  }
  if (entry->described.load(std::memory_order_relaxed) != id) {
    if (agent::first_sight(id) && !publish(code, id)) return {id, false};
    entry->described.store(id, std::memory_order_relaxed);
  }
  // Not while the error indicator is set (a destructor can run while an exception is on its way): arming sets it when
  // there is no memory. Not while the code object dies: CPython has dropped its extras already.
  if (!have_gil || Py_REFCNT(code) <= 0 || PyErr_Occurred() != nullptr || !arm(code, entry)) return {id, false};
  entry->armed_id.store(id, std::memory_order_relaxed);
  return {id, true};
}

std::uint64_t code_epoch() noexcept { return g_epoch.load(std::memory_order_acquire); }

bool make_code_table() noexcept {
  void* const memory =
      mmap(nullptr, kEntries * sizeof(Entry), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  g_entries = static_cast<Entry*>(memory);  // zero bytes are empty entries
  return true;
}

}  // namespace dcmt::python_provider
