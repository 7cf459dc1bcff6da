#include "collector/agent/cpp_stacks.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

#include "collector/agent/code_objects.h"
#include "collector/agent/frame_step.h"
#include "collector/agent/provider.h"
#include "trace/arch/arch.h"

namespace dcmt::agent {
namespace {

constexpr unsigned kMostWalked = 256;  ///< frames
constexpr unsigned kMostKept = 48;
constexpr std::uint64_t kCppSeed = 0x6370702B2B, kNativeSeed = 0x6E6174697665;
/// A frame of more bytes is not believed.
constexpr std::uint64_t kLargestFrame = 64 << 20;

/// What is known of an instruction, in a word that is not 0.
class Known {
 public:
  explicit Known(std::uint64_t word) noexcept : word_(word) {}
  Known(const FrameStep& step, bool is_program, bool is_kept) noexcept
      : word_(1 | (is_program ? 2 : 0) | (is_kept ? 64 : 0) | static_cast<std::uint64_t>(step.end) << 2 |
              static_cast<std::uint64_t>(step.pointer) << 4 |
              (static_cast<std::uint64_t>(step.end_offset) & kMask) << 8 |
              static_cast<std::uint64_t>(step.pointer_offset) << 36) {}

  [[nodiscard]] std::uint64_t word() const noexcept { return word_; }
  [[nodiscard]] bool is_program() const noexcept { return (word_ & 2) != 0; }
  /// In a stack with the frames of all objects.
  [[nodiscard]] bool is_kept() const noexcept { return (word_ & 64) != 0; }
  [[nodiscard]] FrameStep::End end() const noexcept { return static_cast<FrameStep::End>(word_ >> 2 & 3); }
  [[nodiscard]] FrameStep::Pointer pointer() const noexcept { return static_cast<FrameStep::Pointer>(word_ >> 4 & 3); }
  [[nodiscard]] std::int64_t end_offset() const noexcept { return static_cast<std::int64_t>(word_ << 28) >> 36; }
  [[nodiscard]] std::int64_t pointer_offset() const noexcept { return static_cast<std::int64_t>(word_) >> 36; }

 private:
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << 28) - 1;
  std::uint64_t word_;
};

/// All threads share the slots without a lock: a reader of a half-written slot finds a wrong check value, and a lost
/// write only costs the next lookup.
struct KnownSlot {
  std::atomic<std::uint64_t> check;  ///< key ^ word
  std::atomic<std::uint64_t> word;
};
constexpr unsigned kKnownBits = 14;
constexpr unsigned kKnownProbes = 4;

constinit KnownSlot* g_known = nullptr;
constinit std::atomic<bool> g_walks{false};

/// Whether births of storages have such stacks.
constinit std::atomic<bool> g_is_cpp{false};
/// Python's function that runs its functions: what calls it is on the Python stack.
constinit std::uint64_t g_interpreter = 0;

struct NextPlace {
  CodePoint place;
  bool ok;
};

struct Call {
  std::uint64_t instruction;
  std::uint64_t begin, end, returns;  ///< of its frame
};

/// Of another function's frame, which a sanitizer would not allow.
__attribute__((no_sanitize("address"))) std::uint64_t word_at(std::uint64_t address) noexcept {
  return *reinterpret_cast<const std::uint64_t*>(address);
}

/// False if there is no memory. The kernel may forbid the question; then the tables are believed.
bool is_readable(std::uint64_t address) noexcept {
  std::uint64_t word = 0;
  const iovec from{reinterpret_cast<void*>(address), sizeof word};
  const iovec to{&word, sizeof word};
  const int error = errno;
  const bool is = process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof word || errno != EFAULT;
  errno = error;
  return is;
}

/// @param readable  asked before an address is read
template <class Readable>
NextPlace caller_of(const CodePoint& here, Known known, Readable readable) noexcept {
  std::uint64_t end = static_cast<std::uint64_t>(known.end_offset());
  switch (known.end()) {
    case FrameStep::End::kUnknown:
      return {{}, false};
    case FrameStep::End::kStackPointer:
      end += here.stack_pointer;
      break;
    case FrameStep::End::kFramePointer:
      end += here.frame_pointer;
      break;
    case FrameStep::End::kAtFramePointer:
      end += here.frame_pointer;
      if (!readable(end)) return {{}, false};
      end = word_at(end);
      break;
  }
  constexpr std::uint64_t kWord = 8;
  const std::uint64_t call =
      arch::kCallSavesReturn ? end - kWord : end + static_cast<std::uint64_t>(known.pointer_offset()) + kWord;
  if (end <= here.stack_pointer || end - here.stack_pointer > kLargestFrame || !readable(call)) return {{}, false};
  CodePoint caller{arch::return_address(word_at(call)) - 1, end, here.frame_pointer};
  const std::uint64_t saved = known.pointer() == FrameStep::Pointer::kBeforeEnd ? end : here.frame_pointer;
  switch (known.pointer()) {
    case FrameStep::Pointer::kSame:
      break;
    case FrameStep::Pointer::kBeforeEnd:
    case FrameStep::Pointer::kAtFramePointer: {
      const std::uint64_t at = saved + static_cast<std::uint64_t>(known.pointer_offset());
      if (!readable(at)) return {{}, false};
      caller.frame_pointer = word_at(at);
      break;
    }
    case FrameStep::Pointer::kUnknown:
      caller.frame_pointer = 0;
  }
  return {caller, true};
}

/// Finds out about a new instruction. Its frame is tried: what cannot be read is not believed.
[[gnu::noinline]] Known learn(const CodePoint& here, KnownSlot& slot, std::uint64_t key) noexcept {
  const CodeObject* const object = code_object_at(here.instruction);
  const bool is_program = object != nullptr && object->is_program;
  FrameStep step = object != nullptr ? frame_step(*object, here.instruction) : FrameStep{};
  const bool is_interpreter = g_interpreter != 0 && step.function == g_interpreter;
  const bool is_kept = object != nullptr && !object->is_ours && !is_interpreter;
  if (is_interpreter || !caller_of(here, Known(step, is_program, is_kept), is_readable).ok) step = {};
  const Known known(step, is_program, is_kept);
  if (object == nullptr) return known;  // it may be loaded, and not found yet
  slot.word.store(known.word(), std::memory_order_relaxed);
  slot.check.store(key ^ known.word(), std::memory_order_relaxed);
  return known;
}

Known known_at(const CodePoint& here, std::uint64_t epoch) noexcept {
  const std::uint64_t key = here.instruction | epoch << 48;
  const std::size_t first = key * 0x9E3779B97F4A7C15u >> (64 - kKnownBits);
  for (std::size_t i = 0; i < kKnownProbes; ++i) {
    KnownSlot& slot = g_known[first ^ i];
    const std::uint64_t word = slot.word.load(std::memory_order_relaxed);
    if (slot.check.load(std::memory_order_relaxed) == (key ^ word) && word != 0) return Known(word);
    if (word == 0 || i + 1 == kKnownProbes) return learn(here, slot, key);
  }
  return Known(0);
}

/// Without space, the next sight tries again.
[[gnu::noinline]] void publish_calls(std::uint64_t id, const Call* calls, unsigned count,
                                     std::uint32_t flags) noexcept {
  const std::size_t bytes = sizeof(wire::NativeStackRecord) + count * sizeof(wire::ReturnAddress);
  auto* const record =
      static_cast<wire::NativeStackRecord*>(begin_record(wire::RecordType::kNativeStack, bytes, flags));
  if (record == nullptr) return forget(id);
  record->id = id;
  record->count = count;
  auto* const frames = reinterpret_cast<wire::ReturnAddress*>(record + 1);
  for (unsigned i = 0; i < count; ++i) {
    const Call& call = calls[i];
    const CodeObject* const object = code_object_at(call.instruction);
    const std::uint64_t base = object != nullptr ? object->base : 0;
    frames[i] = {object != nullptr ? object->path : 0, call.instruction + 1 - base, call.begin, call.end, call.returns};
  }
  commit_record(record);
}

/// @param all  false: the program's own
std::uint64_t walk_from(const CodePoint& place, bool all) noexcept {
  const std::uint64_t epoch = code_epoch();
  Call calls[kMostKept];
  std::uint64_t instructions[kMostKept];
  unsigned count = 0;
  NextPlace next{place, true};
  for (unsigned i = 0; next.ok && i < kMostWalked && count < kMostKept; ++i) {
    const CodePoint here = next.place;
    const Known known = known_at(here, epoch);
    next = caller_of(here, known, [](std::uint64_t) { return true; });
    if (!(all ? known.is_kept() : known.is_program())) continue;
    instructions[count] = here.instruction;
    calls[count++] = {here.instruction, here.stack_pointer, next.ok ? next.place.stack_pointer : 0,
                      next.ok ? next.place.instruction + 1 : 0};
  }
  if (count == 0) return 0;
  const std::uint64_t id =
      hash_bytes(instructions, count * sizeof instructions[0], (all ? kNativeSeed : kCppSeed) + epoch);
  if (first_sight(id)) publish_calls(id, calls, count, all ? 0 : wire::kOfProgram);
  return id;
}

}  // namespace

bool prepare_native_stacks() noexcept {
  if (g_walks.load()) {
    find_code_objects();
    return true;
  }
  if (g_known == nullptr) g_known = static_cast<KnownSlot*>(arena(sizeof(KnownSlot) << kKnownBits));
  g_interpreter = reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault"));
  g_walks.store(g_known != nullptr && begin_code_objects());
  return g_walks.load();
}

void begin_cpp_stacks() noexcept { g_is_cpp.store(prepare_native_stacks()); }

void end_cpp_stacks() noexcept {
  g_is_cpp.store(false);
  g_walks.store(false);
  forget_code_objects();
}

std::uint64_t cpp_stack(const CodePoint& place) noexcept {
  return g_is_cpp.load(std::memory_order_relaxed) ? walk_from(place, false) : 0;
}

std::uint64_t native_stack(const CodePoint& place) noexcept {
  return g_walks.load(std::memory_order_relaxed) ? walk_from(place, true) : 0;
}

}  // namespace dcmt::agent
