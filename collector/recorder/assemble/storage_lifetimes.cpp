// Storages of Lifetimes.
#include "collector/recorder/assemble/lifetimes.h"

#include <algorithm>

#include "collector/recorder/keep/interval_sums.h"

namespace dcmt::recorder {

Expected<RowId> Lifetimes::find_or_begin_storage(std::uint64_t address, std::uint64_t data, std::uint64_t bytes,
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

Status Lifetimes::storage_birth(const wire::StorageRecord& record) {
  if (record.storage == 0) return journal_.bad_record("a storage's birth");
  if (storages_.find(record.storage) != nullptr) {
    DCMT_RETURN_IF_ERROR(lost_death("storage", record.storage));
    DCMT_RETURN_IF_ERROR(end_storage(record.storage));
  }
  DCMT_RETURN_IF_ERROR(find_or_begin_storage(record.storage, record.data, record.bytes, record.stack).status());
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
    DCMT_RETURN_IF_ERROR(find_or_begin_storage(record.storage, record.data, record.bytes, record.stack).status());
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
  DCMT_ASSIGN_OR_RETURN(
      RowId row, find_or_begin_storage(record.storage, 0, is_born ? record.bytes : record.old_bytes, record.stack));
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

}  // namespace dcmt::recorder
