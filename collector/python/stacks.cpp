#include "collector/python/stacks.h"

#include <atomic>
#include <bit>
#include <cstddef>

#include "collector/agent/provider.h"
#include "collector/python/codes.h"
#include "collector/python/hash.h"
#include "collector/python/interpreter.h"

namespace dcmt::python_provider {
namespace {

constexpr unsigned kMaxFrames = 64;  // as many as Known::unarmed has bits
constexpr std::uint64_t kStackSeed = 0x737461636B;

/// A stack seen before, by the addresses of its code objects. An address is a sure name only while its code object is
/// armed; for the others (a bit each in `unarmed`) `proof` is the hash of their fingerprints.
struct Known {
  std::uint64_t id;
  std::uint64_t unarmed;
  std::uint64_t proof;
};

/// Shared by all threads without a lock: a reader that meets a half-written slot sees a check that does not fit, and a
/// lost write only costs the next look-up.
struct Slot {
  std::atomic<std::uint64_t> check;
  std::atomic<std::uint64_t> id;
  std::atomic<std::uint64_t> unarmed;
  std::atomic<std::uint64_t> proof;
};
constexpr std::size_t kSlots = 16384;
constinit Slot g_slots[kSlots] = {};

std::uint64_t check_of(std::uint64_t key, const Known& known) noexcept {
  return key ^ known.id ^ (known.unarmed * 0x9E3779B97F4A7C15u) ^ (known.proof * 0xC2B2AE3D27D4EB4Fu);
}

Known find_known(std::uint64_t key) noexcept {
  const Slot& slot = g_slots[key % kSlots];
  const Known known{slot.id.load(std::memory_order_relaxed), slot.unarmed.load(std::memory_order_relaxed),
                    slot.proof.load(std::memory_order_relaxed)};
  return slot.check.load(std::memory_order_relaxed) == check_of(key, known) ? known : Known{};
}

void remember(std::uint64_t key, const Known& known) noexcept {
  Slot& slot = g_slots[key % kSlots];
  slot.id.store(known.id, std::memory_order_relaxed);
  slot.unarmed.store(known.unarmed, std::memory_order_relaxed);
  slot.proof.store(known.proof, std::memory_order_relaxed);
  slot.check.store(check_of(key, known), std::memory_order_relaxed);
}

std::uint64_t proof_of(const dcmt_py_position* positions, std::uint64_t unarmed) noexcept {
  std::uint64_t proof = 0;
  for (; unarmed != 0; unarmed &= unarmed - 1) {
    proof = mix(proof, fingerprint(positions[std::countr_zero(unarmed)].code));
  }
  return proof;
}

/// False if there was no room: the next sight tries again.
bool publish(std::uint64_t id, const dcmt_py_position* positions, const std::uint64_t* codes, unsigned count,
             bool more) noexcept {
  const std::size_t bytes = sizeof(wire::StackRecord) + count * sizeof(wire::StackFrame);
  void* const room = agent::begin_record(wire::RecordType::kStack, bytes, more ? 1 : 0);
  if (room == nullptr) {
    agent::forget(id);
    return false;
  }
  auto* const record = static_cast<wire::StackRecord*>(room);
  record->id = id;
  record->count = count;
  auto* const frames = reinterpret_cast<wire::StackFrame*>(record + 1);
  for (unsigned i = 0; i < count; ++i) {
    const int line = PyCode_Addr2Line(positions[i].code, positions[i].offset);
    frames[i] = {codes[i], positions[i].offset, line > 0 ? line : 0};
  }
  agent::commit_record(room);
  return true;
}

}  // namespace

std::uint64_t capture_stack() noexcept {
  PyThreadState* const thread = dcmt_py_thread();
  if (thread == nullptr) return 0;
  dcmt_py_position positions[kMaxFrames];
  int more = 0;
  const unsigned count = dcmt_py_positions(thread, positions, kMaxFrames, &more);
  if (count == 0) return 0;

  // Two chains, so that the multiplications of one frame do not wait for those of the frame before.
  std::uint64_t even = mix(code_epoch(), kStackSeed);
  std::uint64_t odd = kStackSeed + static_cast<std::uint64_t>(more);
  for (unsigned i = 0; i < count; ++i) {
    std::uint64_t& chain = (i & 1u) == 0 ? even : odd;
    chain = mix(chain ^ reinterpret_cast<std::uintptr_t>(positions[i].code),
                static_cast<std::uint32_t>(positions[i].offset));
  }
  const std::uint64_t key = mix(even, odd);
  const Known known = find_known(key);
  if (known.id != 0) {
    if (known.unarmed == 0) return known.id;
    const bool could_arm = arming_possible() && dcmt_py_holds_gil(thread) != 0;
    if (!could_arm && proof_of(positions, known.unarmed) == known.proof) return known.id;
  }

  const bool have_gil = dcmt_py_holds_gil(thread) != 0;
  std::uint64_t codes[kMaxFrames];
  std::uint64_t hash = kStackSeed + static_cast<std::uint64_t>(more);
  Known now{};
  for (unsigned i = 0; i < count; ++i) {
    const CodeIdentity code = identify(positions[i].code, have_gil);
    codes[i] = code.id;
    if (!code.armed) now.unarmed |= std::uint64_t{1} << i;
    hash = mix(hash ^ code.id, static_cast<std::uint32_t>(positions[i].offset));
  }
  now.id = as_id(hash);
  now.proof = proof_of(positions, now.unarmed);
  const bool published = !agent::first_sight(now.id) || publish(now.id, positions, codes, count, more != 0);
  if (published) remember(key, now);
  return now.id;
}

}  // namespace dcmt::python_provider
