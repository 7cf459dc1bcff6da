#include "collector/torch/records/block_records.h"

#include <string.h>

#include <utility>

#include "collector/agent/provider.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/records/running_node.h"
#include "collector/torch/records/small_blocks.h"
#include "collector/torch/state/pinned_blocks.h"
#include "collector/torch/state/torch_thread.h"
#include "trace/wire/records.h"

namespace dcmt::torch_provider {
namespace {

void write_block(wire::RecordType type, std::uint32_t device, std::uint64_t address, std::uint64_t bytes,
                 std::uint64_t stack) noexcept {
  auto* record = static_cast<wire::BlockRecord*>(agent::begin_record(type, sizeof(wire::BlockRecord), device));
  if (record == nullptr) return;
  record->address = address;
  record->bytes = bytes;
  record->stack = stack;
  agent::commit_record(record);
}

/// @param node  string id of the running node  @param ordinal  the node's ordinal on the thread
void write_block_in_node(std::uint32_t device, std::uint64_t address, std::uint64_t bytes, std::uint64_t stack,
                         std::uint64_t node, std::uint64_t ordinal) noexcept {
  auto* record = static_cast<wire::BlockInNodeRecord*>(
      agent::begin_record(wire::RecordType::kBlockAllocInNode, sizeof(wire::BlockInNodeRecord), device));
  if (record == nullptr) return;
  record->address = address;
  record->bytes = bytes;
  record->stack = stack;
  record->name = node;
  record->ordinal = ordinal;
  agent::commit_record(record);
}

/// Writes to which module the thread's next block belongs, if that has changed. `node` runs.
void write_module(TorchThread& thread, const RunningNode& node) noexcept {
  const std::uint64_t from_node = std::exchange(thread.next_node, next_node());
  const std::uint64_t of_node = thread.module == 0 ? node.number : 0;
  if (thread.module == thread.written_module && of_node == thread.written_node) return;
  auto* record =
      static_cast<wire::ModuleRecord*>(agent::begin_record(wire::RecordType::kModule, sizeof(wire::ModuleRecord), 0));
  if (record == nullptr) return;
  record->module = thread.module;
  record->node = of_node;
  record->from_node = from_node;
  agent::commit_record(record);
  thread.written_module = thread.module;
  thread.written_node = of_node;
}

}  // namespace

void write_block_begin(std::uint32_t device, const void* address, std::uint64_t bytes, bool small) noexcept {
  const auto block = reinterpret_cast<std::uint64_t>(address);
  TorchThread* thread = torch_thread();
  const agent::SharedTime time;
  if (!agent::only_blocks()) write_small_sum_before_alloc(device);
  std::uint64_t stack = 0;
  if (!small) {
    write_running_ops();
    stack = stack_here();
  }
  if (thread != nullptr && !small && !agent::only_blocks()) {
    // The first tensor on the block is born next: these values are valid for it, too.
    thread->block = block;
    thread->block_stack = stack;
    thread->block_tsc = time.tsc();
    const RunningNode node = running_node();
    write_module(*thread, node);
    if (node.name != 0) return write_block_in_node(device, block, bytes, stack, node.name, ++thread->ordinal);
  }
  write_block(wire::RecordType::kBlockAlloc, device, block, bytes, stack);
}

void write_block_end(std::uint32_t device, const void* address, std::uint64_t flags, bool small) noexcept {
  const auto block = reinterpret_cast<std::uint64_t>(address);
  TorchThread* thread = torch_thread();
  // A block ends together with its storage: they share one time and one stack.
  const bool with_storage = thread != nullptr && thread->ending_block == block;
  const agent::SharedTime time(with_storage ? thread->ending_tsc : 0);
  if (!agent::only_blocks()) write_small_sum_before_free(device);
  if (!small) write_running_ops();
  if (thread != nullptr && thread->block == block) thread->block = 0;
  // In `lifetimes` the storage's death has the stack.
  const std::uint64_t stack = !agent::full_detail() ? 0 : with_storage ? thread->ending_stack : stack_here();
  write_block(wire::RecordType::kBlockFree, device, block, flags, stack);
}

void write_block_owner(std::uint32_t device, const void* address, const char* owner) noexcept {
  const std::uint64_t name = agent::intern(owner, strlen(owner));
  auto* record = static_cast<wire::BlockOwnerRecord*>(
      agent::begin_record(wire::RecordType::kBlockOwner, sizeof(wire::BlockOwnerRecord), device));
  if (record == nullptr) return;
  record->address = reinterpret_cast<std::uint64_t>(address);
  record->owner = name;
  agent::commit_record(record);
}

void record_block_of(const void* storage) noexcept {
  const std::uint64_t address = layout::data_of(storage);
  if (agent::full_detail() || address == 0) return;
  const std::uint32_t device =
      layout::is_on_gpu(storage) ? wire::cuda_device(layout::device_index_of(storage)) : wire::kCpuDevice;
  const auto* block = reinterpret_cast<const void*>(address);
  const std::uint64_t bytes = take_small_block(device, block);
  if (bytes == 0) return;
  write_block_begin(device, block, bytes, false);
  if (const char* owner = pinned_owner(storage); owner != nullptr) write_block_owner(device, block, owner);
}

}  // namespace dcmt::torch_provider
