#include "collector/recorder/assemble/past.h"

#include <algorithm>
#include <functional>

#include "collector/recorder/decode/record_view.h"

namespace dcmt::recorder {

using wire::RecordType;

void PreAttachState::block_begins(std::uint64_t address, std::uint32_t device) {
  first_of_block_.try_emplace(address, Event::kBegins);
  begun_.insert(address);
  if (device != wire::kCpuDevice) of_gpus_.insert(address);
}

void PreAttachState::block_ends(std::uint64_t address, std::uint32_t device) {
  first_of_block_.try_emplace(address, Event::kEnds);
  if (device != wire::kCpuDevice) of_gpus_.insert(address);
}

void PreAttachState::block_listed(const wire::FoundBlockRecord& record) {
  if (record.header.aux == wire::kCpuDevice || record.bytes == 0) return;
  of_gpus_.insert(record.address);
  Listed& listed = listed_[record.address];
  // If a block has ended since, it is the block of the first list, even if another one is at its address now.
  if (listed.bytes == 0 || !first_of_block_.contains(record.address)) {
    listed.device = record.header.aux;
    listed.bytes = record.bytes;
    listed.stack = record.stack;
  }
  listed.is_in_second = listed.is_in_second || record.recording != 0;
}

void PreAttachState::storage_ends(const wire::StorageRecord& record) {
  first_of_storage_.try_emplace(record.storage, Event::kEnds);
  if (record.data == 0 || record.bytes == 0 || first_of_block_.contains(record.data)) return;
  ended_.push_back({record.storage, record.data, record.bytes, true});
}

void PreAttachState::see(const wire::RecordHeader& record) {
  const std::string_view bytes = record_bytes(record);
  switch (record.type) {
    case RecordType::kBlockAlloc:
      if (const auto r = view_as<wire::BlockRecord>(bytes)) block_begins(r->address, r->header.aux);
      break;
    case RecordType::kBlockAllocInNode:
      if (const auto r = view_as<wire::BlockInNodeRecord>(bytes)) block_begins(r->address, r->header.aux);
      break;
    case RecordType::kBlockFree:
      if (const auto r = view_as<wire::BlockRecord>(bytes)) block_ends(r->address, r->header.aux);
      break;
    case RecordType::kBlockFound:
      if (const auto r = view_as<wire::FoundBlockRecord>(bytes)) block_listed(*r);
      break;
    case RecordType::kTensorBirth:
      if (const auto r = view_as<wire::TensorRecord>(bytes)) {
        first_of_storage_.try_emplace(r->storage, Event::kBegins);
      }
      break;
    case RecordType::kStorageBirth:
      if (const auto r = view_as<wire::StorageRecord>(bytes)) {
        first_of_storage_.try_emplace(r->storage, Event::kBegins);
      }
      break;
    case RecordType::kStorageRelease:
    case RecordType::kStorageDeath:
      if (const auto r = view_as<wire::StorageRecord>(bytes)) storage_ends(*r);
      break;
    default:
      break;
  }
}

/// A tensor can begin on an existing storage, but a block cannot begin at an existing block. So events of blocks decide
/// if there are any. If a block ended and another began at its address, the reading may have found either.
bool PreAttachState::lived(const scan::LivingStorage& found) const {
  if (!found.is_block && !of_gpus_.contains(found.data)) {
    const auto first = first_of_storage_.find(found.storage);
    return first == first_of_storage_.end() || first->second == Event::kEnds;
  }
  return !begun_.contains(found.data);
}

std::vector<PastStorage> PreAttachState::reconcile(std::span<const scan::LivingStorage> found) const {
  std::vector<PastStorage> past;
  std::unordered_set<std::uint64_t> blocks;
  std::unordered_set<std::uint64_t> storages;
  const auto add = [&](PastStorage each) {
    if (!storages.insert(each.storage).second) return;
    each.is_block = each.is_block && !of_gpus_.contains(each.data) && blocks.insert(each.data).second;
    past.push_back(each);
  };
  for (const PastStorage& each : ended_) {
    const auto block = first_of_block_.find(each.data);
    if (block != first_of_block_.end() && block->second == Event::kEnds) add(each);
  }
  for (const scan::LivingStorage& each : found) {
    if (lived(each)) add({each.storage, each.data, each.bytes, each.is_block});
  }
  std::ranges::stable_sort(past, std::greater(), &PastStorage::bytes);
  return past;
}

std::vector<PastGpuBlock> PreAttachState::gpu_blocks() const {
  std::vector<PastGpuBlock> blocks;
  for (const auto& [address, listed] : listed_) {
    const auto first = first_of_block_.find(address);
    const bool lived = first == first_of_block_.end() ? listed.is_in_second : first->second == Event::kEnds;
    if (lived) blocks.push_back({listed.device, address, listed.bytes, listed.stack});
  }
  return blocks;
}

}  // namespace dcmt::recorder
