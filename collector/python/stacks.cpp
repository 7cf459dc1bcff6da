#include "collector/python/stacks.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string_view>

#include "collector/agent/provider.h"
#include "collector/python/codes.h"
#include "collector/python/hash.h"
#include "collector/python/interpreter.h"
#include "collector/python/text.h"

namespace dcmt::python_provider {
namespace {

constexpr unsigned kMaxFrames = 64;
constexpr std::uint64_t kStackSeed = 0x737461636B;

/// Caches the id of a stack. All threads share the slots without a lock: a reader of a half-written slot finds a wrong
/// check value, and a lost write only costs the next lookup.
struct Slot {
  std::atomic<std::uint64_t> check;  ///< key ^ id
  std::atomic<std::uint64_t> id;
};
constexpr std::size_t kSlots = 16384;
constinit Slot g_slots[kSlots] = {};

/// 0 if the stack is not in the cache.
std::uint64_t find_known(std::uint64_t key) noexcept {
  const Slot& slot = g_slots[key % kSlots];
  const std::uint64_t id = slot.id.load(std::memory_order_relaxed);
  return slot.check.load(std::memory_order_relaxed) == (key ^ id) ? id : 0;
}

void remember(std::uint64_t key, std::uint64_t id) noexcept {
  Slot& slot = g_slots[key % kSlots];
  slot.id.store(id, std::memory_order_relaxed);
  slot.check.store(key ^ id, std::memory_order_relaxed);
}

/// The key of a stack: its instructions' addresses, which are valid until an identified code object dies.
std::uint64_t key_of(const dcmt_py_position* positions, unsigned count, bool more) noexcept {
  const auto word = [positions](unsigned i) { return reinterpret_cast<std::uintptr_t>(positions[i].instruction); };
  // Two chains, with two frames in each step, so that few multiplications depend on each other.
  std::uint64_t chains[2] = {mix(code_epoch(), kStackSeed), mix(count, kStackSeed + (more ? 1 : 0))};
  unsigned i = 0;
  for (; i + 4 <= count; i += 4) {
    chains[0] = mix(chains[0] ^ word(i), word(i + 1));
    chains[1] = mix(chains[1] ^ word(i + 2), word(i + 3));
  }
  for (; i < count; ++i) chains[0] = mix(chains[0], word(i));
  return mix(chains[0], chains[1]);
}

/// False if there was no space; the next sight tries again.
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
    const std::int32_t offset = dcmt_py_offset(&positions[i]);
    frames[i] = {codes[i], offset, line_of(positions[i].code, codes[i], offset)};
  }
  agent::commit_record(room);
  return true;
}

/// The id of a stack, which is published at first sight.
std::uint64_t id_of(const dcmt_py_position* positions, unsigned count, bool more) noexcept {
  const std::uint64_t key = key_of(positions, count, more);
  if (const std::uint64_t known = find_known(key); known != 0) return known;

  std::uint64_t codes[kMaxFrames];
  std::uint64_t hash = kStackSeed + static_cast<std::uint64_t>(more);
  bool sure = true;
  for (unsigned i = 0; i < count; ++i) {
    const CodeIdentity code = identify(positions[i].code);
    codes[i] = code.id;
    sure = sure && code.sure;
    hash = mix(hash ^ code.id, static_cast<std::uint32_t>(dcmt_py_offset(&positions[i])));
  }
  const std::uint64_t id = as_id(hash);
  const bool published = !agent::first_sight(id) || publish(id, positions, codes, count, more);
  if (published && sure) remember(key, id);
  return id;
}

/// @param end  from the begin of a name on
bool is_path_of(std::string_view path, std::string_view end) noexcept {
  if (!path.ends_with(end)) return false;
  return path.size() == end.size() || path[path.size() - end.size() - 1] == '/';
}

}  // namespace

const void* innermost_frame() noexcept {
  const PyThreadState* const thread = dcmt_py_thread();
  return thread != nullptr ? dcmt_py_innermost(thread) : nullptr;
}

bool runs_at(const agent::PythonLine* lines, std::uint32_t count) noexcept {
  PyThreadState* const thread = dcmt_py_thread();
  if (thread == nullptr) return false;
  dcmt_py_position positions[kMaxFrames];
  int more = 0;
  const PyObject* unused = nullptr;
  const unsigned frames = dcmt_py_positions(thread, positions, kMaxFrames, &more, nullptr, &unused);
  for (unsigned i = 0; i < frames; ++i) {
    const PyCodeObject* const code = positions[i].code;
    const int line = line_of(code, identify(code).id, dcmt_py_offset(&positions[i]));
    for (std::uint32_t each = 0; each < count; ++each) {
      if (lines[each].line == line && is_path_of(Text(code->co_filename).view(), lines[each].file)) return true;
    }
  }
  return false;
}

std::uint64_t capture_stack(std::uint64_t* module) noexcept {
  *module = 0;
  PyThreadState* const thread = dcmt_py_thread();
  if (thread == nullptr) return 0;
  dcmt_py_position positions[kMaxFrames];
  int more = 0;
  const PyObject* called = nullptr;
  const PyCodeObject* const call = module_call();
  const unsigned count = dcmt_py_positions(thread, positions, kMaxFrames, &more, call, &called);
  if (count == 0) return 0;
  const std::uint64_t id = id_of(positions, count, more != 0);
  // The first stack with a call of a module has just identified its code.
  if (module_call() != call) dcmt_py_positions(thread, positions, kMaxFrames, &more, module_call(), &called);
  *module = reinterpret_cast<std::uintptr_t>(called);
  return id;
}

std::uint64_t describe_stack(const agent::PythonPlace* places, std::uint32_t count, bool more) noexcept {
  dcmt_py_position positions[kMaxFrames];
  const unsigned used = std::min(count, kMaxFrames);
  for (unsigned i = 0; i < used; ++i) {
    auto* const code = static_cast<PyCodeObject*>(const_cast<void*>(places[i].code));
    positions[i] = dcmt_py_position_at(code, std::max(places[i].offset, std::int32_t{0}));
  }
  return used != 0 ? id_of(positions, used, more || used < count) : 0;
}

}  // namespace dcmt::python_provider
