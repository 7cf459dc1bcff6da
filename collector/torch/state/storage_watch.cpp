#include "collector/torch/state/storage_watch.h"

#include "collector/agent/provider.h"
#include "collector/torch/state/numbered_table.h"

namespace dcmt::torch_provider {

constinit std::atomic<std::int32_t> g_watched_count{0};

namespace {

/// A watched storage. When it ends, its place is reused for the next storage of the same chain, with the next life.
struct Watched {
  std::atomic<const void*> storage;  ///< nullptr: the place is free
  std::atomic<std::uint32_t> life;   ///< increased by two for each storage that has ended here; odd while one is ending
  std::uint32_t next;                ///< next place in the chain

  std::atomic<std::uint32_t> busy;  ///< Locked
  std::uint32_t listed_life;        ///< the life that the list and the counts below belong to
  std::atomic<std::uint32_t> gathered;
  std::atomic<KeyIndex> released;  ///< first of the keys that have released the storage
  std::atomic<KeyIndex> latest;
  std::atomic<std::int64_t> number;  ///< number_of_storage() plus one; 0: none

  std::atomic<std::uint64_t> touches;
  std::atomic<std::uint64_t> touch_name;
  std::atomic<std::uint64_t> touch_tsc;
};

constexpr unsigned kChainBits = 16;
constexpr std::uint32_t kChains = 1u << kChainBits;
// Hooks ask for many storages, of which few are watched. A few cache lines have the number of watched storages in each
// part of all chains.
constexpr unsigned kPartBits = 13;

constinit NumberedTable<Watched> g_watched{};
constinit std::atomic<std::uint32_t>* g_chains = nullptr;
constinit std::atomic<std::uint16_t>* g_watched_in = nullptr;
constinit std::atomic<std::uint32_t> g_adding{0};  ///< set while a thread adds a place
constinit std::atomic<std::int32_t> g_released_alive{0};
constinit std::atomic<std::int64_t> g_next_number{0};

constexpr int kPatience = 4096;

std::uint32_t chain_of(const void* storage) noexcept {
  return static_cast<std::uint32_t>((reinterpret_cast<std::uint64_t>(storage) >> 4) * 0x9E3779B97F4A7C15u >>
                                    (64 - kChainBits));
}

std::atomic<std::uint16_t>& part_of(const void* storage) noexcept {
  return g_watched_in[chain_of(storage) >> (kChainBits - kPartBits)];
}

/// 0: it is not watched.
std::uint32_t find(const void* storage) noexcept {
  if (storage == nullptr || g_watched_count.load(std::memory_order_relaxed) == 0 ||
      part_of(storage).load(std::memory_order_relaxed) == 0) {
    return 0;
  }
  std::uint32_t index = g_chains[chain_of(storage)].load(std::memory_order_acquire);
  while (index != 0 && g_watched.at(index).storage.load(std::memory_order_acquire) != storage) {
    index = g_watched.at(index).next;
  }
  return index;
}

void said_busy() noexcept {
  agent::count_lost();
  agent::diagnose(wire::DiagnosticCode::kNote,
                  "an event of a parameter was not recorded: another thread was busy with its storage");
}

/// Gives one thread exclusive access to a storage's list of keys; the list is empty if the storage has ended. The end
/// of a storage does not wait for that thread: the thread clears the list later.
class Locked {
 public:
  explicit Locked(Watched& watched, int patience = kPatience) noexcept : watched_(watched) {
    for (int i = 0; i < patience && !owned; ++i) owned = try_lock();
  }
  ~Locked() {
    while (owned) {
      const std::uint32_t listed_life = watched_.listed_life;  // the next owner may write it
      watched_.busy.store(0, std::memory_order_seq_cst);
      // The storage may have ended meanwhile, when the list was busy.
      owned = watched_.life.load(std::memory_order_seq_cst) != listed_life && try_lock();
    }
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  bool owned = false;

  /// The place is between two storages: no key may be added to it, and no storage may use it.
  [[nodiscard]] bool ending() const noexcept { return watched_.listed_life % 2 != 0; }

  /// Adds the key to those that have released the storage.
  void add_released(KeyIndex key) const noexcept {
    KeyHold& hold = key_at(key).hold;
    if (hold.released.load(std::memory_order_relaxed)) return;
    const KeyIndex first = watched_.released.load(std::memory_order_relaxed);
    hold.previous = 0;
    hold.next = first;
    if (first != 0) {
      key_at(first).hold.previous = key;
    } else {
      g_released_alive.fetch_add(1, std::memory_order_relaxed);
    }
    hold.released.store(true, std::memory_order_release);
    watched_.released.store(key, std::memory_order_release);
  }

  void remove_released(KeyIndex key) const noexcept {
    KeyHold& hold = key_at(key).hold;
    if (!hold.released.load(std::memory_order_relaxed)) return;
    hold.released.store(false, std::memory_order_release);
    if (hold.next != 0) key_at(hold.next).hold.previous = hold.previous;
    if (hold.previous != 0) {
      key_at(hold.previous).hold.next = hold.next;
      return;
    }
    watched_.released.store(hold.next, std::memory_order_release);
    if (hold.next == 0) g_released_alive.fetch_sub(1, std::memory_order_relaxed);
  }

  void remove_all_released() const noexcept {
    while (const KeyIndex first = watched_.released.load(std::memory_order_relaxed)) remove_released(first);
  }

  /// Adds the key to those that have gathered into the storage, or removes it.
  void count_gathered(KeyHold& hold, bool gathered) const noexcept {
    if (hold.counted == gathered) return;
    hold.counted = gathered;
    watched_.gathered.fetch_add(gathered ? 1u : ~0u, std::memory_order_release);
  }

 private:
  bool try_lock() noexcept {
    if (watched_.busy.exchange(1, std::memory_order_seq_cst) != 0) return false;
    const std::uint32_t life = watched_.life.load(std::memory_order_seq_cst);
    if (watched_.listed_life == life) return true;
    // The keys of the ended storage see from its life that they have no storage.
    if (watched_.released.exchange(0, std::memory_order_release) != 0) {
      g_released_alive.fetch_sub(1, std::memory_order_relaxed);
    }
    watched_.gathered.store(0, std::memory_order_release);
    watched_.latest.store(0, std::memory_order_release);
    watched_.listed_life = life;
    return true;
  }

  Watched& watched_;
};

std::uint64_t hold_on(std::uint32_t index, std::uint32_t life) noexcept { return std::uint64_t{index} << 32 | life; }

/// The place of the key, or 0. A place whose storage has ended does not count, even if another storage uses it.
std::uint32_t place_of(const KeyHold& hold) noexcept {
  const std::uint64_t on = hold.on.load(std::memory_order_acquire);
  const auto index = static_cast<std::uint32_t>(on >> 32);
  return index != 0 && g_watched.at(index).life.load(std::memory_order_acquire) == static_cast<std::uint32_t>(on)
             ? index
             : 0;
}

/// Gives a free place to the storage. Only one thread at a time adds.
bool occupy(Watched& watched, const void* storage) noexcept {
  if (watched.storage.load(std::memory_order_acquire) != nullptr) return false;
  const Locked list(watched, 1);
  if (!list.owned || list.ending()) return false;
  watched.number.store(0, std::memory_order_relaxed);
  watched.touches.store(0, std::memory_order_relaxed);
  // Count first: a thread that reads a count of 0 does not search.
  part_of(storage).fetch_add(1, std::memory_order_relaxed);
  g_watched_count.fetch_add(1, std::memory_order_relaxed);
  watched.storage.store(storage, std::memory_order_release);
  return true;
}

/// The storage's place, a new one if necessary; 0 without memory.
std::uint32_t find_or_add(const void* storage) noexcept {
  if (const std::uint32_t found = find(storage); found != 0) return found;
  bool owned = false;
  for (int i = 0; i < kPatience && !owned; ++i) owned = g_adding.exchange(1, std::memory_order_acquire) == 0;
  if (!owned) {
    said_busy();
    return 0;
  }
  std::uint32_t index = find(storage);  // another thread may have added it
  std::atomic<std::uint32_t>& chain = g_chains[chain_of(storage)];
  if (index == 0) {
    index = chain.load(std::memory_order_relaxed);
    while (index != 0 && !occupy(g_watched.at(index), storage)) index = g_watched.at(index).next;
  }
  if (index == 0 && (index = g_watched.add()) != 0) {
    g_watched.at(index).next = chain.load(std::memory_order_relaxed);
    occupy(g_watched.at(index), storage);
    chain.store(index, std::memory_order_release);
  }
  g_adding.store(0, std::memory_order_release);
  if (index == 0) {
    agent::count_lost();
    agent::diagnose(wire::DiagnosticCode::kKeyTableFull,
                    "there is no memory to follow more storages of parameters: what is new is not followed");
  }
  return index;
}

/// False if the key is still on its storage. The key's list is changed only under that list's lock, also after the
/// storage's end: otherwise another thread could follow the key into the next list.
bool leave(KeyIndex key) noexcept {
  KeyHold& hold = key_at(key).hold;
  const auto index = static_cast<std::uint32_t>(hold.on.load(std::memory_order_acquire) >> 32);
  if (index == 0) return true;
  const Locked list(g_watched.at(index));
  if (!list.owned) return false;
  if (place_of(hold) != 0) {
    list.remove_released(key);
    list.count_gathered(hold, false);
  }
  hold.on.store(0, std::memory_order_release);
  hold.released.store(false, std::memory_order_release);
  hold.counted = false;
  return true;
}

}  // namespace

void forget_watched() noexcept {
  g_watched.clear();
  g_watched_count.store(0, std::memory_order_relaxed);
  g_released_alive.store(0, std::memory_order_relaxed);
  g_next_number.store(0, std::memory_order_relaxed);
  g_adding.store(0, std::memory_order_relaxed);
}

bool make_storage_watch() noexcept {
  if (g_chains != nullptr) return true;
  g_chains = static_cast<std::atomic<std::uint32_t>*>(agent::arena(kChains * sizeof(std::atomic<std::uint32_t>)));
  g_watched_in =
      static_cast<std::atomic<std::uint16_t>*>(agent::arena((1u << kPartBits) * sizeof(std::atomic<std::uint16_t>)));
  return g_chains != nullptr && g_watched_in != nullptr;
}

bool is_among_watched(const void* storage) noexcept { return find(storage) != 0; }

void watch_small(const void* storage) noexcept { find_or_add(storage); }

std::int64_t number_of_storage(const void* storage, bool create) noexcept {
  const std::uint32_t index = create ? find_or_add(storage) : find(storage);
  if (index == 0) return -1;
  std::atomic<std::int64_t>& number = g_watched.at(index).number;
  std::int64_t given = number.load(std::memory_order_acquire);
  if (given != 0 || !create) return given - 1;
  const std::int64_t next = g_next_number.fetch_add(1, std::memory_order_relaxed) + 1;
  return number.compare_exchange_strong(given, next, std::memory_order_acq_rel) ? next - 1 : given - 1;
}

bool hang_gathered(KeyIndex key, const void* storage, bool again) noexcept {
  KeyHold& hold = key_at(key).hold;
  const bool same = storage != nullptr && storage_of_key(key) == storage;
  if (!same && !leave(key)) {
    said_busy();
    return false;
  }
  if (storage == nullptr) return false;
  const std::uint32_t place = same ? place_of(hold) : find_or_add(storage);
  if (place == 0) return false;
  Watched& watched = g_watched.at(place);
  const Locked list(watched);
  if (!list.owned) {
    said_busy();
    return false;
  }
  // The storage may have ended since, and the next storage here may have the same address.
  if (list.ending() || watched.storage.load(std::memory_order_acquire) != storage) return false;
  if (same && place_of(hold) != place) return false;
  if (!same) hold.on.store(hold_on(place, watched.listed_life), std::memory_order_release);
  if (!same || again) list.remove_all_released();
  list.count_gathered(hold, true);
  watched.latest.store(key, std::memory_order_release);
  return true;
}

bool hang_released(KeyIndex key, bool claims) noexcept {
  KeyHold& hold = key_at(key).hold;
  const std::uint32_t place = place_of(hold);
  if (place == 0) return false;
  const Locked list(g_watched.at(place));
  if (!list.owned) {
    said_busy();
    return false;
  }
  if (place_of(hold) != place) return false;
  list.count_gathered(hold, false);
  if (claims) list.add_released(key);
  return claims;
}

const void* storage_of_key(KeyIndex key) noexcept {
  const KeyHold& hold = key_at(key).hold;
  const std::uint32_t place = place_of(hold);
  if (place == 0) return nullptr;
  const void* storage = g_watched.at(place).storage.load(std::memory_order_acquire);
  // The next storage of this place comes after the end of the key's storage, which changes the life first.
  return place_of(hold) == place ? storage : nullptr;
}

Claims claims_on(const void* storage) noexcept {
  Claims claims;
  const std::uint32_t index = find(storage);
  if (index == 0) return claims;
  const Watched& watched = g_watched.at(index);
  claims.watched = true;
  claims.gathered = watched.gathered.load(std::memory_order_acquire) != 0;
  const auto still = [index](KeyIndex key) { return key != 0 && place_of(key_at(key).hold) == index; };
  const KeyIndex released = watched.released.load(std::memory_order_acquire);
  if (still(released) && key_at(released).hold.released.load(std::memory_order_acquire)) claims.released = released;
  const KeyIndex latest = watched.latest.load(std::memory_order_acquire);
  if (still(latest)) claims.latest = latest;
  return claims;
}

bool released_storages_alive() noexcept { return g_released_alive.load(std::memory_order_relaxed) > 0; }

void each_released(void (*visit)(void*, KeyIndex, const void*), void* context) noexcept {
  const std::uint32_t last = g_watched.last();
  for (std::uint32_t index = 1; index <= last && g_watched.in_use(index); ++index) {
    const Watched& watched = g_watched.at(index);
    const void* storage = watched.storage.load(std::memory_order_acquire);
    if (storage == nullptr || watched.released.load(std::memory_order_relaxed) == 0) continue;
    const Claims claims = claims_on(storage);
    if (!claims.gathered && claims.released != 0) visit(context, claims.released, storage);
  }
}

bool unwatch_storage(const void* storage) noexcept {
  const std::uint32_t index = find(storage);
  if (index == 0) return false;
  Watched& watched = g_watched.at(index);
  const bool had_keys = watched.latest.load(std::memory_order_acquire) != 0;
  // Make the life odd before the storage leaves its place: a thread that still sees the storage must not add a key to
  // the next life.
  watched.life.fetch_add(1, std::memory_order_seq_cst);
  watched.storage.store(nullptr, std::memory_order_release);
  watched.life.fetch_add(1, std::memory_order_seq_cst);
  part_of(storage).fetch_sub(1, std::memory_order_relaxed);
  g_watched_count.fetch_sub(1, std::memory_order_relaxed);
  const Locked list(watched, 1);  // clears the list; if another thread holds it, that thread clears it
  return had_keys;
}

void note_touch(const void* storage, std::uint64_t name, std::uint64_t tsc) noexcept {
  const std::uint32_t index = find(storage);
  if (index == 0) return;
  Watched& watched = g_watched.at(index);
  // Of two launches at the same time, either may count as the last.
  watched.touch_name.store(name, std::memory_order_relaxed);
  watched.touch_tsc.store(tsc, std::memory_order_relaxed);
  watched.touches.fetch_add(1, std::memory_order_relaxed);
}

Touches touches_of(const void* storage) noexcept {
  const std::uint32_t index = find(storage);
  if (index == 0) return {};
  const Watched& watched = g_watched.at(index);
  return {watched.touches.load(std::memory_order_relaxed), watched.touch_name.load(std::memory_order_relaxed),
          watched.touch_tsc.load(std::memory_order_relaxed)};
}

}  // namespace dcmt::torch_provider
