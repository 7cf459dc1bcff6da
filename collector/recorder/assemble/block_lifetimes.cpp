// Blocks of Lifetimes: from allocation to free, and which storage a block is of.
#include "collector/recorder/assemble/lifetimes.h"

#include <algorithm>

#include "collector/recorder/keep/interval_sums.h"

namespace dcmt::recorder {

/// A segment of a GPU, a mapped file and shared memory have several storages inside.
void Lifetimes::find_inside(std::uint64_t address, const BlockRow& block) {
  if (block.gpu || block.bytes >= kFollowedBytes) wide_blocks_[address] = block.bytes;
}

std::uint64_t Lifetimes::block_at(std::uint64_t data) {
  if (data >= kNoProgramsAddress) return 0;
  if (blocks_.find(data) != nullptr) return data;
  auto block = wide_blocks_.upper_bound(data);
  if (block == wide_blocks_.begin()) return 0;
  --block;
  return data - block->first < static_cast<std::uint64_t>(block->second) ? block->first : 0;
}

RowId Lifetimes::gpu_block_at(std::uint64_t address) {
  const std::uint64_t begin = block_at(address);
  if (begin == 0) return 0;
  const BlockRow& row = blocks_.find(begin)->row;
  return row.gpu ? row.id : 0;
}

void Lifetimes::give_block(std::uint64_t address, RowId storage) {
  auto* block = blocks_.find(address);
  block->row.storage = storage;
  blocks_.touch(address, *block);
}

void Lifetimes::link_block(std::uint64_t data, RowId storage) {
  const std::uint64_t address = block_at(data);
  if (address == 0) return;
  const RowId owner = blocks_.find(address)->row.storage;
  if (owner == storage) return;
  if (const auto before = block_of_.find(storage); before != block_of_.end() && before->second != address) {
    // The storage was resized, or its data was exchanged with another storage's, which torch does without a call. It
    // owns its present block; the owner of the earlier block will show.
    unlink_block(storage);
    block_of_.erase(owner);
  }
  block_of_[storage] = address;
  // Several storages can be in one block; the block stays with the first one while that is alive.
  if (const auto first = block_of_.find(owner); first == block_of_.end() || first->second != address) {
    return give_block(address, storage);
  }
  std::vector<RowId>& others = sharers_[address];
  if (std::find(others.begin(), others.end(), storage) == others.end()) others.push_back(storage);
}

void Lifetimes::unlink_block(RowId storage) {
  const auto place = block_of_.find(storage);
  if (place == block_of_.end()) return;
  const std::uint64_t address = place->second;
  block_of_.erase(place);
  const auto others = sharers_.find(address);
  if (others == sharers_.end()) return;
  std::erase(others->second, storage);
  const auto* block = blocks_.find(address);
  if (block != nullptr && block->row.storage == storage && !others->second.empty()) {
    give_block(address, others->second.front());
  }
  if (others->second.empty()) sharers_.erase(others);
}

Status Lifetimes::end_block(std::uint64_t address, const Place& where, bool waits) {
  if (const auto found = found_in_.extract(address)) DCMT_RETURN_IF_ERROR(end_storage(found.mapped()));
  std::optional<BlockRow> row = blocks_.extract(address);
  row->free = where;
  row->span.to = journal_.now;
  row->waits = waits && row->gpu;
  if (const auto device = Device::from_row(row->gpu)) {
    journal_.rows.sums().free(*device, row->bytes, journal_.now, row->waits);
  }
  wide_blocks_.erase(address);
  sharers_.erase(address);
  if (!row->waits) return journal_.rows.write(*row);
  waiting_.begin(address, *row);
  return {};
}

Status Lifetimes::block_alloc(const wire::BlockRecord& record) {
  const std::optional<Device> device = Device::from_wire(record.header.aux);
  if (!device || record.address == 0 || record.address >= kNoProgramsAddress || record.bytes > kMostDeviceBytes) {
    return journal_.bad_record("a block's allocation");
  }
  if (blocks_.find(record.address) != nullptr) {
    DCMT_RETURN_IF_ERROR(lost_death("block", record.address));
    DCMT_RETURN_IF_ERROR(end_block(record.address, {}));
  }
  DCMT_RETURN_IF_ERROR(end_waiting(record.address));  // otherwise the allocator could not have reused it
  DCMT_ASSIGN_OR_RETURN(Place where, place(record.stack));
  BlockRow row;
  row.id = journal_.now.seq;
  row.address = as_signed(record.address);
  row.bytes = as_signed(record.bytes);
  row.gpu = device->gpu();
  if (traced_.contains(device->name())) row.stream = row.rounding = 0;
  row.birth = where;
  row.module = modules_.current();
  row.span.from = journal_.now;
  blocks_.begin(record.address, row);
  find_inside(record.address, row);
  update_peak(*device, journal_.rows.sums().alloc(*device, row.bytes, journal_.now));
  return {};
}

void Lifetimes::update_peak(Device device, std::int64_t allocated) {
  if (allocated > peak_) {
    peak_ = allocated;
    peak_device_ = device;
  }
  if (device.gpu() == peak_device_.gpu()) highest_ = std::max(highest_, allocated);
  if (device.gpu()) return;
  cpu_peak_ = std::max(cpu_peak_, allocated);
  cpu_highest_ = std::max(cpu_highest_, allocated);
}

CpuBytes Lifetimes::cpu_bytes() const {
  return {journal_.rows.sums().allocated(*Device::from_wire(wire::kCpuDevice)), cpu_peak_, cpu_highest_};
}

Status Lifetimes::past_block(std::uint32_t number, std::uint64_t address, std::uint64_t bytes, std::uint64_t stack) {
  const std::optional<Device> device = Device::from_wire(number);
  if (!device || address == 0 || address >= kNoProgramsAddress || bytes > kMostDeviceBytes) return {};
  BlockRow row;
  row.id = journal_.now.seq;
  row.address = as_signed(address);
  row.bytes = as_signed(bytes);
  row.gpu = device->gpu();
  DCMT_ASSIGN_OR_RETURN(row.birth.stack, dictionary_.stack(stack));
  row.span.from = journal_.now;
  blocks_.begin(address, row);
  find_inside(address, row);
  update_peak(*device, journal_.rows.sums().alloc(*device, row.bytes, journal_.now));
  return {};
}

Expected<bool> Lifetimes::small_blocks(const wire::SmallBlocksRecord& record) {
  const std::optional<Device> device = Device::from_wire(record.header.aux);
  if (!device || record.bytes > kMostDeviceBytes) {
    DCMT_RETURN_IF_ERROR(journal_.bad_record("a sum of small blocks"));
    return false;
  }
  const std::uint64_t key = key_of_small_blocks(device->gpu());
  std::int64_t before = 0;
  if (std::optional<BlockRow> row = blocks_.extract(key)) {
    before = row->bytes;
    row->span.to = journal_.now;
    DCMT_RETURN_IF_ERROR(journal_.rows.write(*row));
  }
  const std::int64_t more = as_signed(record.bytes) - before;
  if (record.bytes != 0) {
    DCMT_ASSIGN_OR_RETURN(RowId owner, journal_.writer.intern(kSmallBlocks));
    BlockRow row;
    // A thread that allocates is running; a thread that only frees may be handling an error.
    if (more > 0) row.birth.thread = journal_.thread;
    row.id = journal_.now.seq;
    row.bytes = as_signed(record.bytes);
    row.gpu = device->gpu();
    row.owner = owner;
    row.span.from = journal_.now;
    blocks_.begin(key, row);
  }
  small_bytes_ += more;
  if (more < 0) growth_.small_blocks_ended();
  update_peak(*device, journal_.rows.sums().change(*device, more, journal_.now));
  return more > 0;
}

Status Lifetimes::block_free(const wire::BlockRecord& record) {
  if (record.address >= kNoProgramsAddress) return journal_.bad_record("a block's free");
  if (blocks_.find(record.address) == nullptr) {
    ++unseen_births_;
    return {};
  }
  DCMT_ASSIGN_OR_RETURN(Place where, place(record.stack));
  return end_block(record.address, where, record.bytes == wire::kFreeAwaitsStream);
}

Status Lifetimes::block_request(const wire::BlockRequestRecord& record) {
  auto* live = blocks_.find(record.address);
  if (live == nullptr) return {};
  DCMT_ASSIGN_OR_RETURN(const std::int64_t stream, streams_.of(record.stream));
  live->row.stream = stream;
  const std::int64_t bytes = live->row.bytes;
  if (record.requested <= static_cast<std::uint64_t>(bytes)) live->row.rounding = bytes - as_signed(record.requested);
  blocks_.touch(record.address, *live);
  return {};
}

Status Lifetimes::block_owner(const wire::BlockOwnerRecord& record) {
  auto* live = blocks_.find(record.address);
  if (live == nullptr) return {};
  DCMT_ASSIGN_OR_RETURN(RowId owner, dictionary_.string(record.owner));
  live->row.owner = owner;
  blocks_.touch(record.address, *live);
  return {};
}

Status Lifetimes::end_waiting(std::uint64_t address) {
  std::optional<BlockRow> row = waiting_.extract(address);
  if (!row) return {};
  if (const auto device = Device::from_row(row->gpu)) {
    journal_.rows.sums().free_done(*device, row->bytes, journal_.now);
  }
  row->done = journal_.now;
  return journal_.rows.write(*row);
}

Status Lifetimes::block_free_done(const wire::BlockFreeDoneRecord& record) { return end_waiting(record.address); }

Status Lifetimes::reserved(const wire::ReservedRecord& record) {
  const std::optional<Device> device = Device::from_wire(record.header.aux);
  if (!device || !device->gpu() || record.reserved > kMostDeviceBytes)
    return journal_.bad_record("an allocator's reserve");
  const bool traced = record.traced == 1;
  if (traced) traced_.insert(device->name());
  reserved_peak_ = std::max(reserved_peak_, as_signed(record.reserved));
  journal_.rows.sums().reserve(*device, static_cast<std::int64_t>(record.reserved), traced, journal_.now);
  return {};
}

}  // namespace dcmt::recorder
