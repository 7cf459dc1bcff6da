#include "collector/torch/records/tensor_records.h"

#include "collector/agent/provider.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/records/block_records.h"
#include "collector/torch/state/sharing_set.h"
#include "collector/torch/state/torch_thread.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::torch_provider {

void write_tensor(wire::RecordType type, const void* tensor, const void* storage, std::uint64_t stack) noexcept {
  write_running_ops();
  auto* record = static_cast<wire::TensorRecord*>(agent::begin_record(type, sizeof(wire::TensorRecord), 0));
  if (record == nullptr) return;
  record->tensor = reinterpret_cast<std::uint64_t>(tensor);
  record->storage = reinterpret_cast<std::uint64_t>(storage);
  record->data = layout::data_of(storage);
  record->bytes = layout::bytes_of(storage);
  record->stack = stack;
  agent::commit_record(record);
}

void follow_from_now(const void* storage) noexcept {
  if (agent::full_detail()) return;
  SharingSet set;
  sharing_of(storage, set, /*unrecorded_only=*/true);
  const bool small = layout::bytes_of(storage) < kFollowedBytes;
  if (small) record_block_of(storage);
  // For a view, this stack is not that of its birth; for the first tensor of a small storage, it is the best one
  // available.
  const std::uint64_t stack = small && set.count != 0 ? stack_here() : 0;
  for (std::uint32_t i = 0; i < set.count; ++i) {
    const void* tensor = set.tensors[i];
    if (sharing_note_recorded(tensor, storage) != BirthRecorded::kNo) continue;
    write_tensor(wire::RecordType::kTensorBirth, tensor, storage, stack);
    // Another thread may have ended the tensor and recorded that before this birth. A second end does no harm.
    if (!sharing_contains(tensor, storage)) write_tensor(wire::RecordType::kTensorDeath, tensor, storage, 0);
  }
}

}  // namespace dcmt::torch_provider
