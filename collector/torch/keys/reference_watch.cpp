#include "collector/torch/keys/reference_watch.h"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "collector/agent/provider.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/records/callback_switch.h"
#include "collector/torch/state/sharing_set.h"
#include "collector/torch/state/torch_thread.h"
#include "collector/torch/state/watchpoints.h"

namespace dcmt::torch_provider {

constinit bool g_watching_counts = false;

namespace {

using wire::CountOf;
using wire::ReferenceEvent;

/// A count that is watched. Only the owner of g_setting fills and empties it.
struct WatchedCount {
  std::atomic<std::uint64_t> word;  ///< its address; 0: this one is free
  std::atomic<const void*> tensor;  ///< nullptr for a storage's count
  std::atomic<CountOf> of;
  std::atomic<std::uint64_t> last;  ///< what the word was
  std::atomic<std::uint64_t> lost;
};
constinit WatchedCount g_counts[kWatchpoints];
constinit std::atomic<const void*> g_storage{nullptr};
constinit std::atomic<bool> g_small{false};  ///< the watched storage may be a number of the statement
constinit std::atomic<bool> g_setting{false};
constinit bool g_by_operators = false;

/// How often a thread tries to become the owner of g_setting where it must: another one owns it for microseconds.
constexpr int kPatience = 100'000;

// What is chosen. Written before the hooks are installed.
constinit std::vector<std::string>* g_files = nullptr;
constinit std::vector<agent::PythonLine>* g_lines = nullptr;
constinit std::vector<KeyName>* g_keys = nullptr;

/// Stacks that were compared with the places: the id, whose lowest bit is replaced by the result.
constexpr std::size_t kKnownStacks = 4096;
constinit std::atomic<std::uint64_t> g_known_stacks[kKnownStacks] = {};

class Setting {
 public:
  Setting() noexcept : owned(!g_setting.exchange(true, std::memory_order_acquire)) {}
  ~Setting() {
    if (owned) g_setting.store(false, std::memory_order_release);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  const bool owned;
};

/// Weak references, and whether there is a Python object, are in the upper half.
std::uint64_t strong(std::uint64_t word) noexcept { return word & 0xffffffffu; }

/// Another thread may be ending the object, so the kernel reads it.
std::uint64_t word_at(std::uint64_t address, std::uint64_t otherwise) noexcept {
  std::uint64_t word = 0;
  return read_memory(reinterpret_cast<const void*>(address), &word, sizeof word) ? word : otherwise;
}

void write_event(ReferenceEvent event, const WatchedCount& count, std::uint64_t before, std::uint64_t after,
                 std::uint64_t native) noexcept {
  const std::uint64_t stack = event == ReferenceEvent::kCheck ? 0 : stack_here();
  write_running_ops();
  const auto of = static_cast<std::uint32_t>(count.of.load(std::memory_order_relaxed));
  const std::uint32_t aux =
      static_cast<std::uint32_t>(event) | of << wire::kCountOfShift | (g_by_operators ? wire::kCountAtOperators : 0);
  auto* record = static_cast<wire::ReferenceRecord*>(
      agent::begin_record(wire::RecordType::kReference, sizeof(wire::ReferenceRecord), aux));
  if (record == nullptr) return;
  record->word = count.word.load(std::memory_order_relaxed);
  record->storage = reinterpret_cast<std::uint64_t>(g_storage.load(std::memory_order_relaxed));
  record->tensor = reinterpret_cast<std::uint64_t>(count.tensor.load(std::memory_order_relaxed));
  record->before = strong(before);
  record->after = strong(after);
  record->lost = count.lost.load(std::memory_order_relaxed);
  record->stack = stack;
  record->native = native;
  agent::commit_record(record);
}

bool has_count(const void* tensor) noexcept {
  return std::ranges::any_of(g_counts, [&](const WatchedCount& count) {
    return count.word.load(std::memory_order_relaxed) != 0 && count.tensor.load(std::memory_order_relaxed) == tensor;
  });
}

// Requires Setting::owned, as all functions down to the next comment.

bool is_counted(CountOf of, const void* tensor) noexcept {
  return std::ranges::any_of(g_counts, [&](const WatchedCount& count) {
    return count.word.load(std::memory_order_relaxed) != 0 && count.of.load(std::memory_order_relaxed) == of &&
           count.tensor.load(std::memory_order_relaxed) == tensor;
  });
}

/// An object has a reference or two when it is made.
constexpr std::uint64_t kMostAtOnce = 8;

/// The write that has made an object: its first references are changes, too.
struct Made {
  bool now = false;
  std::uint64_t native = 0;
};

/// Watches a count if a watchpoint is free.
void begin_count(CountOf of, const void* tensor, std::uint64_t word, Made made = {}) noexcept {
  for (int i = 0; i < kWatchpoints; ++i) {
    WatchedCount& count = g_counts[i];
    if (count.word.load(std::memory_order_relaxed) != 0) continue;
    count.of.store(of, std::memory_order_relaxed);
    count.tensor.store(tensor, std::memory_order_relaxed);
    count.lost.store(0, std::memory_order_relaxed);
    const std::uint64_t before = word_at(word, 0);
    count.last.store(before);
    count.word.store(word);
    if (!g_by_operators && !set_watchpoint(i, word)) {
      count.lost.store(1);
      agent::diagnose(wire::DiagnosticCode::kNote,
                      "a watchpoint could not be set: the program has replaced the "
                      "handler of SIGTRAP, or closed files that it did not open");
    }
    // Changes before the watchpoint was set belong to what was there before.
    std::uint64_t expected = before;
    const std::uint64_t now = word_at(word, before);
    const std::uint64_t first = count.last.compare_exchange_strong(expected, now) ? now : before;
    write_event(ReferenceEvent::kBegin, count, 0, made.now ? 0 : first, 0);
    for (std::uint64_t each = 0; made.now && each < std::min(strong(first), kMostAtOnce); ++each) {
      write_event(ReferenceEvent::kChange, count, each, each + 1, made.native);
    }
    return;
  }
}

/// @param gone  the object ends: its count is 0
void end_count(WatchedCount& count, bool gone) noexcept {
  if (!g_by_operators) clear_watchpoint(static_cast<int>(&count - g_counts));
  const std::uint64_t last = count.last.load();
  write_event(ReferenceEvent::kEnd, count, last, gone ? 0 : word_at(count.word.load(), last), 0);
  count.word.store(0);
}

/// Gives free watchpoints to the storage's tensors and to their Python objects.
/// @param made  about the Python object of `owner`
void fill_counts(const void* owner = nullptr, Made made = {}) noexcept {
  const void* storage = g_storage.load(std::memory_order_relaxed);
  if (storage == nullptr) return;
  SharingSet set;
  sharing_of(storage, set);
  for (std::uint32_t i = 0; i < set.count; ++i) {
    const void* tensor = set.tensors[i];
    const auto address = reinterpret_cast<std::uint64_t>(tensor);
    if (!is_counted(CountOf::kTensor, tensor)) begin_count(CountOf::kTensor, tensor, address + layout::kCount);
    const std::uint64_t object = word_at(address + layout::kTensorPyObject, 0) & ~std::uint64_t{1};
    if (object != 0 && is_counted(CountOf::kTensor, tensor) && !is_counted(CountOf::kObject, tensor)) {
      begin_count(CountOf::kObject, tensor, object, tensor == owner ? made : Made{});
    }
  }
}

/// An operator makes a tensor of a number that a statement has, as in `x * 2`, before that of its result.
constexpr std::uint64_t kBytesOfNumber = 8;

void begin_storage(const void* storage) noexcept {
  g_storage.store(storage);
  g_small.store(layout::bytes_of(storage) <= kBytesOfNumber);
  begin_count(CountOf::kStorage, nullptr, reinterpret_cast<std::uint64_t>(storage) + layout::kCount);
  fill_counts();
}

/// Ends the watch of a storage that may be a number of the statement: no variable can have one.
bool give_way() noexcept {
  for (const WatchedCount& count : g_counts) {
    if (count.word.load() != 0 && count.of.load() == CountOf::kObject) return false;
  }
  for (WatchedCount& count : g_counts) {
    if (count.word.load() != 0) end_count(count, false);
  }
  return true;
}

void end_counts_of(const void* tensor) noexcept {
  for (WatchedCount& count : g_counts) {
    if (count.word.load() == 0 || count.tensor.load() != tensor) continue;
    end_count(count, count.of.load() == CountOf::kTensor && strong(word_at(count.word.load(), 0)) == 0);
  }
}

// Here, Setting is not owned.

/// The count differs from what it was when it was last read.
void count_changed(WatchedCount& count, std::uint64_t now, std::uint64_t native, bool late) noexcept {
  const std::uint64_t before = count.last.exchange(now);
  const auto step = static_cast<std::int64_t>(strong(now)) - static_cast<std::int64_t>(strong(before));
  // Two threads changed it at almost the same time.
  if (!g_by_operators && (late || step > 1 || step < -1 || now == before)) count.lost.fetch_add(1);
  if (step != 0) write_event(ReferenceEvent::kChange, count, before, now, native);
}

void end_if_dead_object(WatchedCount& count, std::uint64_t now) noexcept {
  if (count.of.load() != CountOf::kObject || strong(now) != 0) return;
  const Setting setting;
  if (setting.owned && count.word.load() != 0) end_count(count, true);
}

void fill_if_possible(const void* owner = nullptr, Made made = {}) noexcept {
  const Setting setting;
  if (setting.owned) fill_counts(owner, made);
}

void on_write(int watchpoint, std::uint64_t address, const void* place, bool late) noexcept {
  WatchedCount& count = g_counts[watchpoint];
  if (count.word.load() != address) return;
  if (!agent::recording()) {
    count.lost.fetch_add(1);
    return;
  }
  const agent::Inside inside;
  constexpr std::uint64_t kHasObject = std::uint64_t{1} << 63;
  const std::uint64_t before = count.last.load();
  const std::uint64_t now = word_at(address, before);
  const std::uint64_t native = stack_at(place);
  count_changed(count, now, native, late);
  end_if_dead_object(count, now);
  if (count.of.load() == CountOf::kTensor) {
    fill_if_possible(count.tensor.load(), {(now & ~before & kHasObject) != 0, native});
  }
}

bool is_at_place(std::uint64_t stack) noexcept {
  const agent::PythonProvider* python = agent::python_provider();
  if (python == nullptr || g_lines->empty() || stack == 0) return false;
  std::atomic<std::uint64_t>& known = g_known_stacks[(stack >> 1) % kKnownStacks];
  const std::uint64_t entry = known.load(std::memory_order_relaxed);
  if (entry >> 1 == stack >> 1) return (entry & 1) != 0;
  const bool met = python->runs_at(g_lines->data(), static_cast<std::uint32_t>(g_lines->size()));
  known.store((stack & ~std::uint64_t{1}) | (met ? 1 : 0), std::memory_order_relaxed);
  return met;
}

/// Lines of the table of operators: "watch", and either "site", a file, a line, or "key", a graph, a number.
void read_chosen() {
  g_files = new std::vector<std::string>;
  g_lines = new std::vector<agent::PythonLine>;
  g_keys = new std::vector<KeyName>;
  const char* path = agent::operators_path();
  if (path == nullptr) return;
  std::vector<int> lines;
  std::ifstream table(path);
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string what, kind, first, second;
    std::getline(fields, what, '\t');
    std::getline(fields, kind, '\t');
    std::getline(fields, first, '\t');
    std::getline(fields, second, '\t');
    if (what != "watch") continue;
    if (kind == "key") {
      g_keys->push_back({strtoll(first.c_str(), nullptr, 10), strtoll(second.c_str(), nullptr, 10)});
    } else if (kind == "site") {
      g_files->push_back(first);
      lines.push_back(atoi(second.c_str()));
    }
  }
  for (std::size_t i = 0; i < lines.size(); ++i) g_lines->push_back({(*g_files)[i].c_str(), lines[i]});
}

}  // namespace

bool counts_are_read() noexcept { return g_by_operators; }

void prepare_reference_watch() noexcept {
  g_watching_counts = false;
  try {
    read_chosen();
  } catch (const std::exception&) {  // no memory
    return;
  }
  if (g_lines->empty() && g_keys->empty()) return;
  const char* why = make_watchpoints(on_write);
  g_by_operators = why != nullptr;
  if (g_by_operators) {
    set_operator_need(OperatorNeed::kCounts, true);
    agent::diagnose(wire::DiagnosticCode::kProviderOff, why);
    agent::diagnose(wire::DiagnosticCode::kNote,
                    "reference counts are read at operators only: what is between two operators is not seen");
  }
  for (auto& known : g_known_stacks) known.store(0, std::memory_order_relaxed);
  g_watching_counts = true;
}

void leave_reference_watch() noexcept {
  if (!g_watching_counts) return;
  set_operator_need(OperatorNeed::kCounts, false);
  leave_watchpoints();
  g_watching_counts = false;
  for (WatchedCount& count : g_counts) count.word.store(0);
  g_storage.store(nullptr);
}

void counted_storage_born(const void* tensor, const void* storage, std::uint64_t stack) noexcept {
  if (g_storage.load(std::memory_order_relaxed) == storage) counted_storage_ends(storage);  // its end was not seen
  const bool is_free = g_storage.load(std::memory_order_relaxed) == nullptr;
  const bool goes_before = g_small.load(std::memory_order_relaxed) && layout::bytes_of(storage) > kBytesOfNumber;
  if ((!is_free && !goes_before) || !is_at_place(stack)) return;
  const Setting setting;
  if (!setting.owned || (g_storage.load() != nullptr && !(g_small.load() && give_way()))) return;
  begin_storage(storage);
  if (!is_counted(CountOf::kTensor, tensor)) {
    begin_count(CountOf::kTensor, tensor, reinterpret_cast<std::uint64_t>(tensor) + layout::kCount);
  }
}

void counted_key_gathered(KeyName name, const void* storage) noexcept {
  if (storage == nullptr || g_storage.load(std::memory_order_relaxed) != nullptr) return;
  if (std::ranges::none_of(*g_keys, [&](KeyName key) { return key.graph == name.graph && key.key == name.key; }))
    return;
  const Setting setting;
  if (setting.owned && g_storage.load() == nullptr) begin_storage(storage);
}

void counted_tensor_joins(const void* storage) noexcept {
  if (storage != nullptr && g_storage.load(std::memory_order_relaxed) == storage) fill_if_possible();
}

void counted_tensor_ends(const void* tensor) noexcept {
  if (g_storage.load(std::memory_order_relaxed) == nullptr || !has_count(tensor)) return;
  // Its memory may become anything.
  for (int i = 0; i < kPatience; ++i) {
    const Setting setting;
    if (!setting.owned) continue;
    end_counts_of(tensor);
    return fill_counts();
  }
}

void counted_storage_ends(const void* storage) noexcept {
  if (g_storage.load(std::memory_order_relaxed) != storage) return;
  for (int i = 0; i < kPatience; ++i) {
    const Setting setting;
    if (!setting.owned) continue;
    for (WatchedCount& count : g_counts) {
      if (count.word.load() != 0) end_count(count, count.of.load() == CountOf::kStorage);
    }
    g_storage.store(nullptr);
    return;
  }
}

void read_counts() noexcept {
  if (g_storage.load(std::memory_order_relaxed) == nullptr) return;
  for (WatchedCount& count : g_counts) {
    const std::uint64_t word = count.word.load();
    if (word == 0) continue;
    const std::uint64_t last = count.last.load();
    const std::uint64_t now = word_at(word, last);
    if (strong(now) == strong(last)) continue;
    count_changed(count, now, 0, false);
    end_if_dead_object(count, now);
  }
  fill_if_possible();
}

void check_counts() noexcept {
  for (const WatchedCount& count : g_counts) {
    const std::uint64_t word = count.word.load();
    if (word == 0) continue;
    const std::uint64_t last = count.last.load();
    write_event(ReferenceEvent::kCheck, count, last, word_at(word, last), 0);
  }
}

}  // namespace dcmt::torch_provider
