#include "collector/recorder/assemble/lifetimes.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <unordered_set>

#include "collector/recorder/keep/interval_sums.h"
#include "trace/sql/row_io.h"

namespace dcmt::recorder {
namespace {

std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

// The sum of a device's small blocks is a row without an address. Here it has an address of the kernel's half.
constexpr std::uint64_t kNoProgramsAddress = std::uint64_t{1} << 63;

std::uint64_t key_of_small_blocks(std::optional<std::int64_t> gpu) {
  return kNoProgramsAddress + (gpu ? static_cast<std::uint64_t>(*gpu) + 1 : 0);
}

}  // namespace

Status Lifetimes::resume() {
  for (const IntervalCurveRow& curve : journal_.rows.sums().curves) {
    if (curve.active_end) traced_.insert(curve.device);
  }
  Database& database = journal_.writer.database();
  std::unordered_set<RowId> alive;
  DCMT_RETURN_IF_ERROR(each_row_of<StorageRow>(database, "WHERE to_seq IS NULL", [&](const StorageRow& storage) {
    alive.insert(storage.id);
    storages_.restore(static_cast<std::uint64_t>(storage.address), storage);
  }));
  DCMT_RETURN_IF_ERROR(each_row_of<MarkRow>(database, "WHERE kind = 'resize' ORDER BY id", [&](const MarkRow& mark) {
    if (alive.contains(mark.storage)) resized_[mark.storage] = mark.bytes.value_or(0);
  }));
  DCMT_RETURN_IF_ERROR(each_row_of<TensorRow>(database, "WHERE to_seq IS NULL", [this](const TensorRow& tensor) {
    tensors_.restore(static_cast<std::uint64_t>(tensor.address), tensor);
  }));
  return each_row_of<BlockRow>(database, "WHERE to_seq IS NULL OR wait_seq_length = 0", [&](const BlockRow& block) {
    const auto address = static_cast<std::uint64_t>(block.address);
    if (block.span.to.set()) {
      waiting_.restore(address, block);
      return;
    }
    if (block.address == 0) {
      blocks_.restore(key_of_small_blocks(block.gpu), block);
      return;
    }
    blocks_.restore(address, block);
    find_inside(address, block);
    if (alive.contains(block.storage)) block_of_[block.storage] = address;
  });
}

Expected<Place> Lifetimes::place(std::uint64_t stack) {
  DCMT_ASSIGN_OR_RETURN(RowId id, dictionary_.stack(stack));
  return Place{journal_.thread, operators_.running(), id};
}

Status Lifetimes::lost_death(const char* what, std::uint64_t address) {
  if (++lost_deaths_ > 1) return {};  // if records are lost, there can be one for each record
  char text[96];
  std::snprintf(text, sizeof text, "a %s began at %#llx while one lived there: its death was lost", what,
                static_cast<unsigned long long>(address));
  return journal_.diagnose("lost_death", text);
}

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

Expected<RowId> Lifetimes::see_storage(std::uint64_t address, std::uint64_t data, std::uint64_t bytes,
                                       std::uint64_t stack) {
  if (address == 0) return RowId{0};
  auto* live = storages_.find(address);
  if (live == nullptr) {
    DCMT_ASSIGN_OR_RETURN(Place where, place(stack));
    StorageRow row;
    row.id = journal_.now.seq;
    row.address = as_signed(address);
    row.bytes = as_signed(bytes);
    row.first_seen = true;
    row.birth = where;
    row.span.from = journal_.now;
    live = &storages_.begin(address, row);
    growth_.begins(row.birth.stack, row.bytes);
    ++journal_.rows.sums().row.storages;
  }
  link_block(data, live->row.id);
  return live->row.id;
}

Expected<RowId> Lifetimes::find_storage(std::uint64_t address, std::uint64_t data, std::uint64_t bytes,
                                        std::int64_t until) {
  const std::uint64_t at = block_at(data);
  const auto* block = at != 0 ? blocks_.find(at) : nullptr;
  if (address == 0 || block == nullptr || block->row.id > until) return RowId{0};
  if (const auto found = found_in_.find(at); found != found_in_.end()) {
    return found->second == address ? block->row.storage : RowId{0};
  }
  // Another one was at this address, and has given its block away.
  if (storages_.find(address) != nullptr) DCMT_RETURN_IF_ERROR(end_storage(address));
  StorageRow row;
  row.id = block->row.id;
  row.address = as_signed(address);
  row.bytes = as_signed(bytes);
  row.first_seen = true;
  row.birth = block->row.birth;
  row.span.from = block->row.span.from;
  storages_.begin(address, row);
  ++journal_.rows.sums().row.storages;
  link_block(data, row.id);
  found_in_[at] = address;
  return row.id;
}

RowId Lifetimes::storage(std::uint64_t address) {
  const auto* live = storages_.find(address);
  return live != nullptr ? live->row.id : 0;
}

RowId Lifetimes::tensor(std::uint64_t address) {
  const auto* live = tensors_.find(address);
  return live != nullptr ? live->row.id : 0;
}

Point Lifetimes::tensor_from(std::uint64_t address) {
  const auto* live = tensors_.find(address);
  return live != nullptr ? live->row.span.from : Point{};
}

Status Lifetimes::begin_tensor(std::uint64_t address, RowId object, RowId storage_row, const Place& where) {
  TensorRow row;
  row.id = journal_.now.seq;
  row.object = object != 0 ? object : row.id;
  row.address = as_signed(address);
  row.storage = storage_row;
  row.birth = where;
  row.span.from = journal_.now;
  tensors_.begin(address, row);
  return {};
}

Status Lifetimes::end_tensor(std::uint64_t address) {
  const RowId id = tensor(address);
  DCMT_RETURN_IF_ERROR(tensors_.end(journal_.rows, address, journal_.now));
  return censuses_.tensor_ended(id);
}

void Lifetimes::note_unseen_birth(std::unordered_set<std::uint64_t>& released, std::uint64_t address, bool is_death) {
  if (!is_death || released.erase(address) == 0) ++unseen_births_;
}

Status Lifetimes::unseen_change(const char* what, std::uint64_t address) {
  // If records were lost, the loss explains the changes: one is enough.
  const std::int64_t most_shown = journal_.ids.loss > 1 ? 1 : 10;
  if (++unseen_changes_ > most_shown) return {};
  char text[128];
  std::snprintf(text, sizeof text, "%s of %#llx changed at an unknown time: it was read at its end only", what,
                static_cast<unsigned long long>(address));
  return journal_.diagnose("unseen_change", text);
}

Status Lifetimes::tensor_birth(const wire::TensorRecord& record) {
  if (record.tensor == 0) return journal_.bad_record("a tensor's birth");
  released_tensors_.erase(record.tensor);
  if (tensors_.find(record.tensor) != nullptr) {
    DCMT_RETURN_IF_ERROR(lost_death("tensor", record.tensor));
    DCMT_RETURN_IF_ERROR(end_tensor(record.tensor));
  }
  DCMT_ASSIGN_OR_RETURN(RowId row, see_storage(record.storage, record.data, record.bytes, record.stack));
  DCMT_ASSIGN_OR_RETURN(Place where, place(record.stack));
  ++journal_.rows.sums().row.tensors;
  return begin_tensor(record.tensor, 0, row, where);
}

Status Lifetimes::move_tensor(const wire::TensorRecord& record) {
  auto* live = tensors_.find(record.tensor);
  const TensorRow old = live->row;
  if (old.storage == 0) {
    // The tensor was being constructed when it was first recorded.
    DCMT_ASSIGN_OR_RETURN(RowId row, see_storage(record.storage, record.data, record.bytes, record.stack));
    live->row.storage = row;
    return {};
  }
  DCMT_ASSIGN_OR_RETURN(Point left, journal_.rows.end_of_storage(old.storage));
  const Point moved = left.set() ? left : journal_.now;
  DCMT_RETURN_IF_ERROR(tensors_.end(journal_.rows, record.tensor, moved));
  DCMT_RETURN_IF_ERROR(censuses_.tensor_ended(old.id));
  DCMT_ASSIGN_OR_RETURN(RowId row, see_storage(record.storage, record.data, record.bytes, record.stack));
  DCMT_RETURN_IF_ERROR(begin_tensor(record.tensor, old.object, row, old.birth));
  tensors_.find(record.tensor)->row.span.from = moved;
  return {};
}

Status Lifetimes::tensor_end(const wire::TensorRecord& record) {
  const bool is_death = record.header.type == wire::RecordType::kTensorDeath;
  const auto* live = tensors_.find(record.tensor);
  if (live == nullptr) {
    note_unseen_birth(released_tensors_, record.tensor, is_death);
    return {};
  }
  if (record.storage != 0 && storage(record.storage) != live->row.storage) {
    DCMT_RETURN_IF_ERROR(unseen_change("the storage of the tensor", record.tensor));
    DCMT_RETURN_IF_ERROR(move_tensor(record));
  }
  if (!is_death) released_tensors_.insert(record.tensor);
  return end_tensor(record.tensor);
}

Expected<RowId> Lifetimes::repoint(const wire::RepointRecord& record) {
  if (record.tensor == 0) {
    DCMT_RETURN_IF_ERROR(journal_.bad_record("a tensor's change of storage"));
    return RowId{0};
  }
  DCMT_ASSIGN_OR_RETURN(Place where, place(record.stack));
  RowId object = 0;
  RowId old_tensor = 0;
  RowId old_storage = storage(record.old_storage);
  if (const auto* live = tensors_.find(record.tensor); live != nullptr) {
    object = live->row.object;
    old_tensor = live->row.id;
    if (old_storage == 0) old_storage = live->row.storage;
    DCMT_RETURN_IF_ERROR(end_tensor(record.tensor));
  }
  DCMT_ASSIGN_OR_RETURN(RowId row, see_storage(record.storage, record.data, record.bytes, record.stack));
  DCMT_RETURN_IF_ERROR(begin_tensor(record.tensor, object, row, where));

  MarkRow mark;
  mark.id = journal_.ids.mark++;
  mark.kind = "repoint";
  mark.thread = where.thread;
  mark.tensor = old_tensor != 0 ? old_tensor : tensor(record.tensor);
  mark.storage = old_storage;
  mark.operator_id = where.operator_id;
  mark.stack = where.stack;
  mark.span = {journal_.now, journal_.now};
  DCMT_RETURN_IF_ERROR(journal_.rows.write(mark));
  return old_storage;
}

std::int64_t Lifetimes::bytes_now(const StorageRow& storage) const {
  const auto resized = resized_.find(storage.id);
  return resized != resized_.end() ? resized->second : storage.bytes;
}

Status Lifetimes::storage_birth(const wire::StorageRecord& record) {
  if (record.storage == 0) return journal_.bad_record("a storage's birth");
  if (storages_.find(record.storage) != nullptr) {
    DCMT_RETURN_IF_ERROR(lost_death("storage", record.storage));
    DCMT_RETURN_IF_ERROR(end_storage(record.storage));
  }
  DCMT_RETURN_IF_ERROR(see_storage(record.storage, record.data, record.bytes, record.stack).status());
  storages_.find(record.storage)->row.first_seen = false;
  return {};
}

std::unordered_map<std::uint64_t, RowId> Lifetimes::living_storages() const {
  std::unordered_map<std::uint64_t, RowId> living;
  storages_.each([&](const StorageRow& row) { living.emplace(static_cast<std::uint64_t>(row.address), row.id); });
  return living;
}

std::int64_t Lifetimes::bytes_where(const std::function<bool(RowId)>& counts) const {
  std::int64_t bytes = 0;
  storages_.each([&](const StorageRow& row) { bytes += counts(row.id) ? row.bytes : 0; });
  return bytes;
}

BytesBySize Lifetimes::small_storages() const {
  BytesBySize live{};
  storages_.each([&](const StorageRow& row) {
    if (row.bytes > 0 && row.bytes < kFollowedBytes) live[size_class_of(row.bytes)] += row.bytes;
  });
  return live;
}

void Lifetimes::size_is_followed(std::size_t size_class) {
  smallest_followed_ = std::min(smallest_followed_, static_cast<std::int64_t>(size_class) * kSizeClassBytes + 1);
}

bool Lifetimes::lives_since(std::int64_t from, std::int64_t to) const {
  bool lives = false;
  storages_.each([&](const StorageRow& row) {
    lives = lives || (row.bytes >= smallest_followed_ && row.span.from.seq > from && row.span.from.seq <= to);
  });
  return lives;
}

Status Lifetimes::end_storage(std::uint64_t address) {
  RowId id = 0;
  if (const auto* live = storages_.find(address); live != nullptr) {
    id = live->row.id;
    growth_.ends(live->row.birth.stack, live->row.bytes);
    owners_.storage_ended(id);
  }
  DCMT_RETURN_IF_ERROR(storages_.end(journal_.rows, address, journal_.now));
  unlink_block(id);
  resized_.erase(id);
  return censuses_.storage_ended(id);
}

Status Lifetimes::storage_end(const wire::StorageRecord& record) {
  if (record.storage == 0) return journal_.bad_record("a storage's end");
  const bool is_death = record.header.type == wire::RecordType::kStorageDeath;
  auto* live = storages_.find(record.storage);
  if (live == nullptr) {
    if (is_death && released_storages_.erase(record.storage) != 0) return {};
    // A storage without bytes is of no interest, and in `lifetimes` there are many whose birth was too small.
    if (record.bytes == 0) return {};
    DCMT_RETURN_IF_ERROR(see_storage(record.storage, record.data, record.bytes, record.stack).status());
    live = storages_.find(record.storage);
  } else {
    link_block(record.data, live->row.id);
  }
  DCMT_ASSIGN_OR_RETURN(Place where, place(record.stack));
  if (bytes_now(live->row) != as_signed(record.bytes)) {
    DCMT_RETURN_IF_ERROR(unseen_change("the size of the storage", record.storage));
    DCMT_RETURN_IF_ERROR(write_resize(live->row.id, record.bytes, where));
  }
  live->row.end = where;
  live->row.end_ordinal = record.header.aux;
  if (!is_death) released_storages_.insert(record.storage);
  return end_storage(record.storage);
}

Status Lifetimes::storage_resize(const wire::ResizeRecord& record) {
  if (record.storage == 0) return journal_.bad_record("a storage's change of size");
  // Many operators make an empty storage, then compute its size and resize it: its life begins with its bytes.
  const bool is_born = record.old_bytes == 0 && storage(record.storage) == 0;
  DCMT_ASSIGN_OR_RETURN(RowId row,
                        see_storage(record.storage, 0, is_born ? record.bytes : record.old_bytes, record.stack));
  link_block(record.data, row);
  if (is_born) return {};
  DCMT_ASSIGN_OR_RETURN(Place where, place(record.stack));
  return write_resize(row, record.bytes, where);
}

Status Lifetimes::write_resize(RowId storage, std::uint64_t bytes, const Place& where) {
  resized_[storage] = as_signed(bytes);
  MarkRow mark;
  mark.id = journal_.ids.mark++;
  mark.kind = "resize";
  mark.thread = where.thread;
  mark.storage = storage;
  mark.bytes = as_signed(bytes);
  mark.operator_id = where.operator_id;
  mark.stack = where.stack;
  mark.span = {journal_.now, journal_.now};
  return journal_.rows.write(mark);
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
  see_height(*device, journal_.rows.sums().alloc(*device, row.bytes, journal_.now));
  return {};
}

void Lifetimes::see_height(Device device, std::int64_t allocated) {
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
  see_height(*device, journal_.rows.sums().alloc(*device, row.bytes, journal_.now));
  return {};
}

Status Lifetimes::past_storage(std::uint64_t address, std::uint64_t data, std::uint64_t bytes) {
  StorageRow row;
  row.id = journal_.now.seq;
  row.address = as_signed(address);
  row.bytes = as_signed(bytes);
  row.first_seen = true;
  row.span.from = journal_.now;
  // The block that begins at the same address was allocated for this storage.
  if (const auto* block = blocks_.find(data); block != nullptr) row.birth.stack = block->row.birth.stack;
  if (row.birth.stack != 0) growth_.begins(row.birth.stack, row.bytes);
  storages_.begin(address, row);
  ++journal_.rows.sums().row.storages;
  link_block(data, row.id);
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
  see_height(*device, journal_.rows.sums().change(*device, more, journal_.now));
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

Status Lifetimes::commit() {
  DCMT_RETURN_IF_ERROR(storages_.commit(journal_.rows));
  DCMT_RETURN_IF_ERROR(tensors_.commit(journal_.rows));
  DCMT_RETURN_IF_ERROR(waiting_.commit(journal_.rows));
  return blocks_.commit(journal_.rows);
}

}  // namespace dcmt::recorder
