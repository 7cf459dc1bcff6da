// The ids of published strings, code objects and stacks.
#include <string.h>

#include <atomic>

#include "collector/agent/provider.h"
#include "collector/agent/seen.h"

namespace dcmt::agent {
namespace {

constexpr std::size_t kSlots = std::size_t{1} << 20;
constexpr std::size_t kProbes = 64;
constexpr std::size_t kMaxText = 8 * 1024;

constinit std::atomic<std::uint64_t>* g_slots = nullptr;

__extension__ using Uint128 = unsigned __int128;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  // The folded 128-bit product of wyhash (public domain).
  const auto product = static_cast<Uint128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

bool make_seen_table() noexcept {
  if (g_slots != nullptr) return true;
  g_slots = static_cast<std::atomic<std::uint64_t>*>(arena(kSlots * sizeof(std::uint64_t)));
  return g_slots != nullptr;
}

std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed) noexcept {
  constexpr std::uint64_t kA = 0xa0761d6478bd642fu;
  constexpr std::uint64_t kB = 0xe7037ed1a0b428dbu;
  const char* p = static_cast<const char*>(data);
  std::uint64_t hash = mix(seed ^ kA, bytes ^ kB);
  for (; bytes >= 8; bytes -= 8, p += 8) {
    std::uint64_t word;
    memcpy(&word, p, 8);
    hash = mix(hash ^ word, kB);
  }
  if (bytes != 0) {
    std::uint64_t word = 0;
    memcpy(&word, p, bytes);
    hash = mix(hash ^ word, kA);
  }
  return hash != 0 ? hash : 1;
}

bool first_sight(std::uint64_t id) noexcept {
  std::size_t slot = id & (kSlots - 1);
  for (std::size_t probe = 0; probe < kProbes; ++probe, slot = (slot + 1) & (kSlots - 1)) {
    std::uint64_t seen = g_slots[slot].load(std::memory_order_relaxed);
    if (seen == id) return false;
    if (seen == 0) {
      if (g_slots[slot].compare_exchange_strong(seen, id, std::memory_order_relaxed)) return true;
      if (seen == id) return false;
    }
  }
  return true;
}

std::uint64_t intern(const char* text, std::size_t bytes) noexcept {
  if (bytes == 0) return 0;
  if (bytes > kMaxText) bytes = kMaxText;
  const std::uint64_t id = hash_bytes(text, bytes, 0);
  if (!first_sight(id)) return id;
  const std::size_t padded = (bytes + 7) & ~std::size_t{7};
  auto* record =
      static_cast<wire::StringRecord*>(begin_record(wire::RecordType::kString, sizeof(wire::StringRecord) + padded, 0));
  if (record == nullptr) {
    forget(id);
    return id;
  }
  record->id = id;
  record->bytes = bytes;
  char* out = reinterpret_cast<char*>(record + 1);
  memset(out + padded - 8, 0, 8);
  memcpy(out, text, bytes);
  commit_record(record);
  return id;
}

void forget(std::uint64_t id) noexcept {
  std::size_t slot = id & (kSlots - 1);
  for (std::size_t probe = 0; probe < kProbes; ++probe, slot = (slot + 1) & (kSlots - 1)) {
    std::uint64_t expected = id;
    // A tombstone would need a check in every later probe. An id that never occurs keeps probe chains intact instead.
    if (g_slots[slot].compare_exchange_strong(expected, ~std::uint64_t{0}, std::memory_order_relaxed)) return;
  }
}

void diagnose(wire::DiagnosticCode code, const char* text) noexcept {
  const std::uint64_t id = intern(text, strlen(text));
  const std::uint64_t said = hash_bytes(&id, sizeof id, static_cast<std::uint64_t>(code));
  if (!first_sight(said)) return;
  auto* record = static_cast<wire::DiagnosticRecord*>(
      begin_record(wire::RecordType::kDiagnostic, sizeof(wire::DiagnosticRecord), static_cast<std::uint32_t>(code)));
  if (record == nullptr) return forget(said);
  record->text = id;
  commit_record(record);
}

}  // namespace dcmt::agent
