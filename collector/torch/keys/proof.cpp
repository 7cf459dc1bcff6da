#include "collector/torch/keys/proof.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "collector/agent/environment.h"
#include "collector/agent/provider.h"
#include "collector/torch/state/cpu_allocator.h"
#include "collector/torch/state/fences.h"
#include "collector/torch/state/storage_watch.h"
#include "collector/torch/state/torch_thread.h"
#include "trace/base/graph_number.h"

namespace dcmt::torch_provider {

constinit bool g_proving = false;

namespace {

constinit ProveBy g_by = ProveBy::kFence;
constinit std::uint8_t g_poison = 0;
constinit const KeyName* g_chosen = nullptr;  ///< ascending, with the numbers of graphs of the run that has the finding
constinit std::size_t g_chosen_count = 0;
/// Graphs whose numbers are addresses, in the order in which a run first gathers from them: in the run that has the
/// finding, and in this one. The same place is the same graph.
constexpr std::size_t kMostGraphs = 256;
constinit const std::int64_t* g_graphs_then = nullptr;
constinit std::size_t g_graphs_then_count = 0;
constinit std::atomic<std::int64_t> g_graphs[kMostGraphs]{};
constinit std::atomic<std::uint64_t> g_unseen{0};  ///< touches that were not recorded

bool comes_before(const KeyName& a, const KeyName& b) noexcept {
  return a.graph != b.graph ? a.graph < b.graph : a.key < b.key;
}

KeyName name_then(const KeyName& name) noexcept {
  for (std::size_t i = 0; i < std::min(g_graphs_then_count, kMostGraphs); ++i) {
    if (g_graphs[i].load(std::memory_order_relaxed) == name.graph) return {g_graphs_then[i], name.key};
  }
  return name;
}

bool is_chosen(const KeyName& name) noexcept {
  return std::binary_search(g_chosen, g_chosen + g_chosen_count, name_then(name), comes_before);
}

bool read_chosen(const char* path) noexcept {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct stat info = {};
  void* chosen = nullptr;
  if (fstat(file, &info) == 0 && info.st_size > 0) chosen = agent::arena(static_cast<std::size_t>(info.st_size));
  const bool whole = chosen != nullptr && read(file, chosen, static_cast<std::size_t>(info.st_size)) == info.st_size;
  close(file);
  if (!whole) return false;
  const std::size_t words = static_cast<std::size_t>(info.st_size) / sizeof(std::int64_t);
  const auto* graphs = static_cast<const std::int64_t*>(chosen);
  const auto count = static_cast<std::size_t>(*graphs++);
  if (count >= words) return false;
  g_graphs_then = graphs;
  g_graphs_then_count = count;
  g_chosen = reinterpret_cast<const KeyName*>(graphs + count);
  g_chosen_count = (words - 1 - count) * sizeof(std::int64_t) / sizeof(KeyName);
  return true;
}

wire::FenceRecord* begin_fence_record(wire::FenceEvent event) noexcept {
  return static_cast<wire::FenceRecord*>(
      agent::begin_record(wire::RecordType::kFence, sizeof(wire::FenceRecord), static_cast<std::uint32_t>(event)));
}

struct OpHere {
  const char* name = nullptr;
  std::uint64_t ordinal = 0;
  std::uint64_t stack = 0;
};

/// What the thread does, which accesses the storage. A thread that runs neither Python nor an operator may do a part of
/// another thread's operator: then it is the one that has the storage as an input.
OpHere op_here(const void* storage) noexcept {
  const std::uint64_t stack = stack_here();
  TorchThread* thread = torch_thread();
  const RunningOp* op = thread != nullptr ? innermost_op(*thread) : nullptr;
  if (op != nullptr || stack != 0) {
    return {op != nullptr ? op->name : nullptr, thread != nullptr ? thread->ordinal : 0, stack};
  }
  RunningOp other;
  return op_with_input(storage, other) ? OpHere{other.name, other.ordinal, other.stack} : OpHere{};
}

/// @param bytes, open  see wire::FenceRecord
void write_event(wire::FenceEvent event, KeyName of, const void* storage, std::uint64_t bytes, std::uint64_t open,
                 const OpHere& by) noexcept {
  const std::uint64_t name = by.name != nullptr ? agent::intern(by.name, strlen(by.name)) : 0;
  write_running_ops();
  wire::FenceRecord* record = begin_fence_record(event);
  if (record == nullptr) return;
  record->graph = of.graph;
  record->key = of.key;
  record->storage = reinterpret_cast<std::uint64_t>(storage);
  record->bytes = bytes;
  record->open = open;
  record->op = name;
  record->ordinal = by.ordinal;
  record->stack = by.stack;
  agent::commit_record(record);
}

/// In a signal handler, but at a place of the program's own: a load or a store. So what a hook may do is allowed,
/// unless a hook is running.
void on_touch(const Fence& fence, std::uint64_t address, bool writes) noexcept {
  if (!agent::recording()) {
    g_unseen.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const agent::Inside inside;
  write_event(writes ? wire::FenceEvent::kWritten : wire::FenceEvent::kRead, key_at(fence.key).name, fence.storage,
              fence.end - fence.begin, address - fence.block, op_here(fence.storage));
}

/// The end of the memory that belongs to the block and to nobody else.
std::uint64_t end_of_block(const Fence& fence) noexcept {
  const bool still = storage_of_key(fence.key) == fence.storage && StorageCopy(fence.storage).data() == fence.block;
  return still ? fence.block + malloc_usable_size(reinterpret_cast<void*>(fence.block)) : 0;
}

/// kPlaced: it can be fenced.
wire::FenceEvent why_open(const StorageCopy& copy) noexcept {
  if (copy.is_on_gpu()) return wire::FenceEvent::kGpu;
  return is_of_cpu_allocator(copy) ? wire::FenceEvent::kPlaced : wire::FenceEvent::kForeign;
}

void read_how() noexcept {
  constexpr char kPoison[] = "poison=";
  const char* how = getenv(agent::kEnvProveBy);
  g_by = ProveBy::kFence;
  if (how == nullptr) return;
  if (strcmp(how, "free") == 0) g_by = ProveBy::kFree;
  if (strcmp(how, "compare") == 0) g_by = ProveBy::kCompare;
  if (strncmp(how, kPoison, sizeof kPoison - 1) != 0) return;
  g_by = ProveBy::kPoison;
  g_poison = static_cast<std::uint8_t>(atoi(how + sizeof kPoison - 1));
}

/// 40 bits: a reader of the trace adds up the numbers of a column, to be sure that no sum overflows.
std::uint64_t digest(const void* data, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kPrime = 0x9E3779B97F4A7C15u;
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint64_t sum = bytes;
  for (; bytes != 0;) {
    std::uint64_t word = 0;
    const std::uint64_t taken = std::min<std::uint64_t>(bytes, sizeof word);
    memcpy(&word, at, taken);
    sum = (sum ^ word) * kPrime;
    sum ^= sum >> 29;
    at += taken;
    bytes -= taken;
  }
  return sum >> 24;
}

}  // namespace

ProveBy prove_by() noexcept { return g_by; }

void prepare_proof() noexcept {
  const char* path = getenv(agent::kEnvProve);
  if (path == nullptr) return;
  read_how();
  g_proving = read_chosen(path) && (g_by != ProveBy::kFence || make_fences(on_touch));
  if (!g_proving) {
    agent::diagnose(wire::DiagnosticCode::kNote,
                    "released storages are not fenced: the list of parameters cannot be read, or the kernel refuses a "
                    "handler of SIGSEGV");
  }
}

void leave_proof() noexcept {
  if (proving() && g_by == ProveBy::kFence) leave_fences();
}

void see_graph(std::int64_t graph) noexcept {
  if (!is_address_of_graph(graph)) return;
  for (std::atomic<std::int64_t>& seen : g_graphs) {
    std::int64_t there = 0;
    if (seen.compare_exchange_strong(there, graph, std::memory_order_relaxed) || there == graph) return;
  }
}

void fence_released(KeyIndex key) noexcept {
  if (g_by != ProveBy::kFence || !is_chosen(key_at(key).name)) return;
  const void* storage = storage_of_key(key);
  const StorageCopy copy(storage);
  if (storage == nullptr || claims_on(storage).gathered || why_open(copy) != wire::FenceEvent::kPlaced) return;
  place_fence({copy.data(), 0, 0, key, storage}, end_of_block);
}

void prove_left(KeyIndex key, const void* storage, const StorageCopy& copy) noexcept {
  if (!is_chosen(key_at(key).name) || (g_by != ProveBy::kFence && g_by != ProveBy::kPoison)) return;
  const std::uint64_t bytes = copy.bytes();
  const auto write = [&](wire::FenceEvent event, std::uint64_t open) noexcept {
    write_event(event, key_at(key).name, storage, bytes, open, op_here(storage));
  };
  if (const wire::FenceEvent why = why_open(copy); why != wire::FenceEvent::kPlaced) return write(why, bytes);
  const Fence fence{copy.data(), 0, 0, key, storage};
  if (g_by == ProveBy::kPoison) {
    const Fencing how = overwrite(fence, end_of_block, bytes, g_poison);
    if (how == Fencing::kDone) write(wire::FenceEvent::kPoisoned, 0);
    if (how == Fencing::kFull) write(wire::FenceEvent::kRefused, bytes);
    return;
  }
  // The release has placed it, unless another key still used the storage.
  const Fenced fenced = place_fence(fence, end_of_block);
  if (fenced.how == Fencing::kGone) return;
  if (fenced.how == Fencing::kFull || fenced.how == Fencing::kRefused) {
    return write(wire::FenceEvent::kRefused, bytes);
  }
  const std::uint64_t begin = std::max(copy.data(), fenced.pages.begin);
  const std::uint64_t end = std::min(copy.data() + bytes, fenced.pages.end);
  write(wire::FenceEvent::kPlaced, end > begin ? bytes - (end - begin) : bytes);
}

bool is_to_free(KeyIndex key) noexcept { return g_by == ProveBy::kFree && is_chosen(key_at(key).name); }

void write_result(const char* name, const void* data, std::uint64_t bytes) noexcept {
  OpHere by = op_here(nullptr);
  by.name = name;
  write_event(wire::FenceEvent::kResult, {}, nullptr, bytes, digest(data, bytes), by);
}

void unfence_gathered(const void* storage) noexcept { open_fence(StorageCopy(storage).data()); }

void write_unseen_touches() noexcept {
  const std::uint64_t unseen = g_unseen.exchange(0, std::memory_order_relaxed);
  if (unseen == 0) return;
  wire::FenceRecord* record = begin_fence_record(wire::FenceEvent::kTouchUnseen);
  if (record == nullptr) return;
  memset(&record->graph, 0, sizeof *record - sizeof record->header);
  record->bytes = unseen;
  agent::commit_record(record);
}

}  // namespace dcmt::torch_provider
