// For a machine without a GPU: torch's CUDA allocator lists blocks that a program has made up, with the stacks that
// torch gathers of an allocation. One slot of the allocator's virtual table is another function.
#include <c10/cuda/CUDACachingAllocator.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using Allocator = c10::cuda::CUDACachingAllocator::CUDAAllocator;
using Snapshot = c10::cuda::CUDACachingAllocator::SnapshotInfo;

constexpr std::size_t kTableWords = 128;  // more than there are
constexpr std::size_t kWordsBefore = 2;   // the type, and where the object begins
constexpr std::size_t kBegin = 0x7f0000000000;

struct Planted {
  std::size_t bytes;
  std::shared_ptr<c10::GatheredContext> context;
};
std::vector<Planted> g_planted;
void* g_table[kWordsBefore + kTableWords];

// A member function gets the place of its result first, then the object, as this one does.
Snapshot snapshot(Allocator*, c10::MempoolId_t, bool) {
  Snapshot list;
  auto& segment = list.segments.emplace_back();
  segment.device = 0;
  segment.address = kBegin;
  for (const Planted& each : g_planted) {
    auto& block = segment.blocks.emplace_back();
    block.size = each.bytes;
    block.allocated = block.active = true;
    block.context_when_allocated = each.context;
  }
  return list;
}

/// Where a virtual function stands in the table, in words: as the ABI's pointer to a member says.
std::size_t slot_of_snapshot() {
  struct Pointer {
    std::uintptr_t offset;
    std::ptrdiff_t adjustment;
  };
  return (std::bit_cast<Pointer>(&Allocator::snapshot).offset - 1) / sizeof(void*);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void plant_begin() {
  auto& table = *reinterpret_cast<void***>(c10::cuda::CUDACachingAllocator::allocator.load());
  std::memcpy(g_table, table - kWordsBefore, sizeof g_table);
  g_table[kWordsBefore + slot_of_snapshot()] = reinterpret_cast<void*>(snapshot);
  table = g_table + kWordsBefore;
}

/// A block behind the one before. `keeps`: with the stacks of Python, TorchScript and C++ of this call.
__attribute__((visibility("default"))) void plant(std::size_t bytes, int keeps) {
  g_planted.push_back({bytes, keeps != 0 ? torch::CapturedTraceback::gather(true, true, true) : nullptr});
}

__attribute__((visibility("default"))) void plant_end() { g_planted.clear(); }

}  // extern "C"
