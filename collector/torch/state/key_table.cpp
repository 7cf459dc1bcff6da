#include "collector/torch/state/key_table.h"

#include "collector/agent/provider.h"
#include "collector/torch/state/numbered_table.h"

namespace dcmt::torch_provider {
namespace {

// Keys are chained by the hash of their names and only ever added, at the head of their chain.
constexpr std::uint32_t kChains = 1u << 16;

constinit NumberedTable<KeySlot> g_keys{};
constinit std::atomic<KeyIndex>* g_chains = nullptr;

std::atomic<KeyIndex>& chain_of(KeyName name) noexcept {
  return g_chains[agent::hash_bytes(&name, sizeof name, 0) % kChains];
}

/// Searches the chain from `first` to before `end`.
KeyIndex find_in(KeyIndex first, KeyIndex end, KeyName name) noexcept {
  for (KeyIndex index = first; index != end; index = g_keys.at(index).next) {
    const KeyName& other = g_keys.at(index).name;
    if (other.graph == name.graph && other.key == name.key) return index;
  }
  return 0;
}

}  // namespace

void forget_keys() noexcept { g_keys.clear(); }

bool make_key_table() noexcept {
  if (g_chains != nullptr) return true;
  g_chains = static_cast<std::atomic<KeyIndex>*>(agent::arena(kChains * sizeof(std::atomic<KeyIndex>)));
  return g_chains != nullptr;
}

KeySlot& key_at(KeyIndex index) noexcept { return g_keys.at(index); }

KeyIndex find_key(KeyName name) noexcept { return find_in(chain_of(name).load(std::memory_order_acquire), 0, name); }

KeyIndex find_or_add_key(KeyName name) noexcept {
  std::atomic<KeyIndex>& chain = chain_of(name);
  KeyIndex head = chain.load(std::memory_order_acquire);
  if (const KeyIndex found = find_in(head, 0, name); found != 0) return found;
  const KeyIndex added = g_keys.add();
  if (added == 0) {
    agent::count_lost();
    agent::diagnose(wire::DiagnosticCode::kKeyTableFull,
                    "there is no memory for more parameter keys: what is new is not followed");
    return 0;
  }
  KeySlot& slot = g_keys.at(added);
  slot.name = name;
  for (KeyIndex known = head;; known = head) {
    slot.next = head;
    if (chain.compare_exchange_strong(head, added, std::memory_order_acq_rel)) return added;
    // Another thread has added keys; one may be this key.
    if (const KeyIndex found = find_in(head, known, name); found != 0) return found;
  }
}

KeyGuard::KeyGuard(KeySlot& key) noexcept : key_(key) {
  for (int i = 0; i < 4096 && !owned; ++i) owned = key_.busy.exchange(1, std::memory_order_acquire) == 0;
  if (owned) return;
  agent::count_lost();
  agent::diagnose(wire::DiagnosticCode::kNote,
                  "an event of a parameter was not recorded: another thread was busy with its key");
}

}  // namespace dcmt::torch_provider
