#include "collector/recorder/lifetimes.h"

#include <algorithm>
#include <cstdio>

namespace dcmt::recorder {
namespace {

constexpr std::string_view kFirstSeen = "first_seen";
constexpr std::string_view kCpu = "cpu";

std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

Place place_of(const Statement& row, int column) {
  return {row.optional_integer(column), row.integer(column + 1), row.integer(column + 2)};
}

}  // namespace

Status Lifetimes::resume() {
  Database& database = journal_.writer.database();
  DCMT_RETURN_IF_ERROR(each_row(
      database,
      "SELECT id, address, bytes, thread, operator, stack, from_seq, from_ns FROM storage WHERE to_seq IS NULL",
      [this](const Statement& row) {
        StorageRow storage;
        storage.id = row.integer(0);
        storage.address = row.integer(1);
        storage.bytes = row.integer(2);
        storage.seen = kFirstSeen;
        storage.birth = place_of(row, 3);
        storage.span.from = {row.integer(6), row.integer(7)};
        storages_.restore(static_cast<std::uint64_t>(storage.address), storage);
      }));
  DCMT_RETURN_IF_ERROR(
      each_row(database,
               "SELECT id, object, address, storage, thread, operator, stack, from_seq, from_ns FROM tensor"
               " WHERE to_seq IS NULL",
               [this](const Statement& row) {
                 TensorRow tensor;
                 tensor.id = row.integer(0);
                 tensor.object = row.integer(1);
                 tensor.address = row.integer(2);
                 tensor.storage = row.integer(3);
                 tensor.birth = place_of(row, 4);
                 tensor.span.from = {row.integer(7), row.integer(8)};
                 tensors_.restore(static_cast<std::uint64_t>(tensor.address), tensor);
               }));
  return each_row(
      database,
      "SELECT b.id, b.address, b.bytes, b.storage, b.thread, b.operator, b.stack, b.from_seq, b.from_ns, s.address,"
      " s.to_seq FROM block b LEFT JOIN storage s ON s.id = b.storage WHERE b.to_seq IS NULL",
      [this](const Statement& row) {
        BlockRow block;
        block.id = row.integer(0);
        block.address = row.integer(1);
        block.bytes = row.integer(2);
        block.device = kCpu;
        block.storage = row.integer(3);
        block.birth = place_of(row, 4);
        block.span.from = {row.integer(7), row.integer(8)};
        blocks_.restore(static_cast<std::uint64_t>(block.address), block);
        if (!row.is_null(9) && row.is_null(10)) block_owners_.insert(block.storage);
      });
}

Expected<Place> Lifetimes::place(std::uint64_t stack) {
  Expected<RowId> id = dictionary_.stack(stack);
  if (!id.ok()) return id.error();
  return Place{journal_.thread, operators_.running(), *id};
}

Status Lifetimes::lost_death(const char* what, std::uint64_t address) {
  char text[96];
  std::snprintf(text, sizeof text, "a %s began at %#llx while one lived there: its death was lost", what,
                static_cast<unsigned long long>(address));
  return journal_.diagnose("lost_death", text);
}

void Lifetimes::link_block(std::uint64_t data, RowId storage) {
  auto* block = data != 0 ? blocks_.find(data) : nullptr;
  if (block == nullptr || block->row.storage == storage) return;
  // Two storages can share one block; it stays with the first while that one lives.
  if (block_owners_.contains(block->row.storage)) return;
  block->row.storage = storage;
  block_owners_.insert(storage);
  blocks_.touch(data, *block);
}

Expected<RowId> Lifetimes::see_storage(std::uint64_t address, std::uint64_t data, std::uint64_t bytes,
                                       std::uint64_t stack) {
  if (address == 0) return RowId{0};
  auto* live = storages_.find(address);
  if (live == nullptr) {
    Expected<Place> where = place(stack);
    if (!where.ok()) return where.error();
    StorageRow row;
    row.id = journal_.ids.storage++;
    row.address = as_signed(address);
    row.bytes = as_signed(bytes);
    row.seen = kFirstSeen;
    row.birth = *where;
    row.span.from = journal_.now;
    live = &storages_.begin(address, row);
    ++journal_.rows.sums().row.storages;
  }
  link_block(data, live->row.id);
  return live->row.id;
}

RowId Lifetimes::storage(std::uint64_t address) {
  const auto* live = storages_.find(address);
  return live != nullptr ? live->row.id : 0;
}

RowId Lifetimes::tensor(std::uint64_t address) {
  const auto* live = tensors_.find(address);
  return live != nullptr ? live->row.id : 0;
}

Moment Lifetimes::tensor_from(std::uint64_t address) {
  const auto* live = tensors_.find(address);
  return live != nullptr ? live->row.span.from : Moment{};
}

Status Lifetimes::begin_tensor(std::uint64_t address, RowId object, RowId storage_row, const Place& where) {
  TensorRow row;
  row.id = journal_.ids.tensor++;
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

Status Lifetimes::tensor_birth(const wire::TensorRecord& record) {
  if (record.tensor == 0) return journal_.bad_record("a tensor's birth");
  if (tensors_.find(record.tensor) != nullptr) {
    DCMT_RETURN_IF_ERROR(lost_death("tensor", record.tensor));
    DCMT_RETURN_IF_ERROR(end_tensor(record.tensor));
  }
  Expected<RowId> row = see_storage(record.storage, record.data, record.bytes, record.stack);
  if (!row.ok()) return row.error();
  Expected<Place> where = place(record.stack);
  if (!where.ok()) return where.error();
  ++journal_.rows.sums().row.tensors;
  return begin_tensor(record.tensor, 0, *row, *where);
}

Status Lifetimes::tensor_end(const wire::TensorRecord& record) {
  if (tensors_.find(record.tensor) == nullptr) return {};
  return end_tensor(record.tensor);
}

Expected<RowId> Lifetimes::repoint(const wire::RepointRecord& record) {
  if (record.tensor == 0) {
    DCMT_RETURN_IF_ERROR(journal_.bad_record("a tensor's change of storage"));
    return RowId{0};
  }
  Expected<Place> where = place(record.stack);
  if (!where.ok()) return where.error();
  RowId object = 0;
  RowId old_tensor = 0;
  RowId old_storage = storage(record.old_storage);
  if (const auto* live = tensors_.find(record.tensor); live != nullptr) {
    object = live->row.object;
    old_tensor = live->row.id;
    if (old_storage == 0) old_storage = live->row.storage;
    DCMT_RETURN_IF_ERROR(end_tensor(record.tensor));
  }
  Expected<RowId> row = see_storage(record.storage, record.data, record.bytes, record.stack);
  if (!row.ok()) return row.error();
  DCMT_RETURN_IF_ERROR(begin_tensor(record.tensor, object, *row, *where));

  MarkRow mark;
  mark.id = journal_.ids.mark++;
  mark.kind = "repoint";
  mark.thread = where->thread;
  mark.tensor = old_tensor != 0 ? old_tensor : tensor(record.tensor);
  mark.storage = old_storage;
  mark.operator_id = where->operator_id;
  mark.stack = where->stack;
  mark.span = {journal_.now, journal_.now};
  DCMT_RETURN_IF_ERROR(journal_.rows.write(mark));
  return old_storage;
}

Status Lifetimes::storage_end(const wire::StorageRecord& record) {
  auto* live = storages_.find(record.storage);
  if (live == nullptr) return {};
  Expected<Place> where = place(record.stack);
  if (!where.ok()) return where.error();
  live->row.end = *where;
  live->row.end_ordinal = record.header.aux;
  const RowId id = live->row.id;
  DCMT_RETURN_IF_ERROR(storages_.end(journal_.rows, record.storage, journal_.now));
  block_owners_.erase(id);
  return censuses_.storage_ended(id);
}

Status Lifetimes::storage_resize(const wire::ResizeRecord& record) {
  if (record.storage == 0) return journal_.bad_record("a storage's change of size");
  Expected<RowId> row = see_storage(record.storage, 0, record.old_bytes, record.stack);
  if (!row.ok()) return row.error();
  link_block(record.data, *row);
  Expected<Place> where = place(record.stack);
  if (!where.ok()) return where.error();
  MarkRow mark;
  mark.id = journal_.ids.mark++;
  mark.kind = "resize";
  mark.thread = where->thread;
  mark.storage = *row;
  mark.bytes = as_signed(record.bytes);
  mark.operator_id = where->operator_id;
  mark.stack = where->stack;
  mark.span = {journal_.now, journal_.now};
  return journal_.rows.write(mark);
}

Status Lifetimes::end_block(std::uint64_t address, const Place& where) {
  auto* live = blocks_.find(address);
  live->row.free = where;
  allocated_ -= live->row.bytes;
  journal_.rows.sums().free(kCpu, live->row.bytes, allocated_, journal_.now);
  return blocks_.end(journal_.rows, address, journal_.now);
}

Status Lifetimes::block_alloc(const wire::BlockRecord& record) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 46;
  if (record.header.aux != 0 || record.address == 0 || record.bytes > kMaxBytes) {
    return journal_.bad_record("a block's allocation");
  }
  if (blocks_.find(record.address) != nullptr) {
    DCMT_RETURN_IF_ERROR(lost_death("block", record.address));
    DCMT_RETURN_IF_ERROR(end_block(record.address, {}));
  }
  Expected<Place> where = place(record.stack);
  if (!where.ok()) return where.error();
  BlockRow row;
  row.id = journal_.ids.block++;
  row.address = as_signed(record.address);
  row.bytes = as_signed(record.bytes);
  row.device = kCpu;
  row.birth = *where;
  row.span.from = journal_.now;
  blocks_.begin(record.address, row);
  allocated_ += as_signed(record.bytes);
  peak_ = std::max(peak_, allocated_);
  journal_.rows.sums().alloc(kCpu, row.bytes, allocated_, journal_.now);
  return {};
}

Status Lifetimes::block_free(const wire::BlockRecord& record) {
  if (blocks_.find(record.address) == nullptr) return {};
  Expected<Place> where = place(record.stack);
  if (!where.ok()) return where.error();
  return end_block(record.address, *where);
}

Status Lifetimes::commit() {
  DCMT_RETURN_IF_ERROR(storages_.commit(journal_.rows));
  DCMT_RETURN_IF_ERROR(tensors_.commit(journal_.rows));
  return blocks_.commit(journal_.rows);
}

}  // namespace dcmt::recorder
