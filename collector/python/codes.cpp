#include "collector/python/codes.h"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <string_view>

#include "collector/agent/provider.h"
#include "collector/python/exit.h"
#include "collector/python/function_table.h"
#include "collector/python/hash.h"
#include "collector/python/lines.h"
#include "collector/python/text.h"

namespace dcmt::python_provider {
namespace {

constexpr std::size_t kEntries = 65536;
constexpr std::size_t kProbes = 32;
constexpr std::uint64_t kCodeSeed = 0x636F6465;  // distinguishes code ids from other ids made of the same words

/// An entry for each address of an identified code object. Entries are never removed: an address keeps its generation.
struct Entry {
  std::atomic<std::uintptr_t> address;
  std::atomic<std::uint64_t> id;          ///< of the live code object there; 0: not identified since the last death
  std::atomic<std::uint64_t> generation;  ///< deaths of identified code objects
  std::atomic<std::uint32_t> function;    ///< row in the table of functions, valid while `id` is set
};

Entry* g_entries = nullptr;
std::atomic<std::uint64_t> g_epoch{0};
std::atomic<const PyCodeObject*> g_module_call{nullptr};
destructor g_deallocate = nullptr;
constinit LineMarks g_lines;

enum class Missing { kAdd, kLeave };

Entry* find(std::uintptr_t address, Missing missing) noexcept {
  if (g_entries == nullptr) return nullptr;
  const std::size_t start = mix(address, kCodeSeed) % kEntries;
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    Entry& entry = g_entries[(start + probe) % kEntries];
    std::uintptr_t seen = entry.address.load(std::memory_order_relaxed);
    if (seen == 0) {
      if (missing == Missing::kLeave) return nullptr;
      entry.address.compare_exchange_strong(seen, address, std::memory_order_relaxed);
    }
    if (seen == 0 || seen == address) return &entry;
  }
  return nullptr;
}

/// Replaces CPython's destructor of code objects, which is called with the GIL. The death is noted after the original:
/// a nested destructor may still find the dying code object on a stack. The address cannot be reused before we return.
void on_code_death(PyObject* code) {
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  g_deallocate(code);
  Entry* const entry = find(address, Missing::kLeave);
  if (entry == nullptr || entry->id.load(std::memory_order_relaxed) == 0) return;
  const auto* dead = reinterpret_cast<const PyCodeObject*>(code);
  g_module_call.compare_exchange_strong(dead, nullptr, std::memory_order_relaxed);
  entry->id.store(0, std::memory_order_relaxed);
  entry->generation.fetch_add(1, std::memory_order_relaxed);
  g_epoch.fetch_add(1, std::memory_order_release);
}

/// Distinguishes a code object without an entry from another one at the same address. These fields never change.
std::uint64_t fingerprint(const PyCodeObject* code) noexcept {
  const auto word = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
  std::uint64_t hash = mix(static_cast<std::uint64_t>(code->co_firstlineno), kCodeSeed);
  hash = mix(hash, word(code->co_filename));
  hash = mix(hash, word(code->co_name));
  hash = mix(hash, word(code->co_linetable));
  return mix(hash, word(code->co_consts));
}

/// False if there was no space; the next sight tries again.
bool publish(const PyCodeObject* code, std::uint64_t id) noexcept {
  if (!agent::first_sight(id)) return true;
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
  code_runs();
  return true;
}

void note_module_call(const PyCodeObject* code) noexcept {
  constexpr std::string_view kFile = "torch/nn/modules/module.py";
  if (Text(code->co_qualname).view() == "Module._wrapped_call_impl" &&
      Text(code->co_filename).view().ends_with(kFile)) {
    g_module_call.store(code, std::memory_order_relaxed);
  }
}

}  // namespace

CodeIdentity identify(const PyCodeObject* code) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  Entry* const entry = find(address, Missing::kAdd);
  if (entry == nullptr) {
    const std::uint64_t id = as_id(mix(mix(address, kCodeSeed), fingerprint(code)));
    publish(code, id);
    return {id, false, function_row(code)};
  }
  if (const std::uint64_t id = entry->id.load(std::memory_order_acquire); id != 0) {
    return {id, true, entry->function.load(std::memory_order_relaxed)};
  }
  const std::uint64_t id = as_id(mix(mix(address, entry->generation.load(std::memory_order_relaxed)), kCodeSeed));
  const std::uint32_t function = function_row(code);
  if (!publish(code, id)) return {id, false, function};
  note_module_call(code);
  entry->function.store(function, std::memory_order_relaxed);
  entry->id.store(id, std::memory_order_release);
  return {id, true, function};
}

int line_of(const PyCodeObject* code, std::uint64_t id, std::int32_t offset) noexcept {
  const auto* const entries = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(code->co_linetable));
  const auto bytes = static_cast<std::size_t>(PyBytes_GET_SIZE(code->co_linetable));
  return g_lines.line_of({id, entries, bytes, code->co_firstlineno}, offset).line;
}

const PyCodeObject* module_call() noexcept { return g_module_call.load(std::memory_order_relaxed); }

std::uint64_t code_epoch() noexcept { return g_epoch.load(std::memory_order_acquire); }

namespace {

void forget_codes() noexcept {
  for (std::size_t i = 0; i < kEntries; ++i) {
    if (g_entries[i].address.load(std::memory_order_relaxed) == 0) continue;
    g_entries[i].id.store(0, std::memory_order_relaxed);
    g_entries[i].generation.fetch_add(1, std::memory_order_relaxed);
  }
  g_epoch.fetch_add(1, std::memory_order_release);
}

}  // namespace

void unwatch_codes() noexcept {
  destructor ours = on_code_death;
  if (g_deallocate != nullptr) std::atomic_ref(PyCode_Type.tp_dealloc).compare_exchange_strong(ours, g_deallocate);
}

bool watch_codes() noexcept {
  if (g_entries != nullptr) {
    forget_codes();
    // Another tool may have replaced the destructor meanwhile and call ours: then ours stays valid.
    destructor original = g_deallocate;
    std::atomic_ref(PyCode_Type.tp_dealloc).compare_exchange_strong(original, on_code_death);
    return true;
  }
  void* const memory =
      mmap(nullptr, kEntries * sizeof(Entry), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  g_entries = static_cast<Entry*>(memory);  // zero bytes are empty entries
  g_deallocate = PyCode_Type.tp_dealloc;
  std::atomic_ref(PyCode_Type.tp_dealloc).store(on_code_death, std::memory_order_release);
  return true;
}

}  // namespace dcmt::python_provider
