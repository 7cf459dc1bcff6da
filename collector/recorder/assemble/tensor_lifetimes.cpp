// Tensors of Lifetimes.
#include "collector/recorder/assemble/lifetimes.h"

#include <cstdio>
#include <unordered_set>

#include "collector/recorder/keep/interval_sums.h"

namespace dcmt::recorder {

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
  DCMT_ASSIGN_OR_RETURN(RowId row, find_or_begin_storage(record.storage, record.data, record.bytes, record.stack));
  DCMT_ASSIGN_OR_RETURN(Place where, place(record.stack));
  ++journal_.rows.sums().row.tensors;
  return begin_tensor(record.tensor, 0, row, where);
}

Status Lifetimes::move_tensor(const wire::TensorRecord& record) {
  auto* live = tensors_.find(record.tensor);
  const TensorRow old = live->row;
  if (old.storage == 0) {
    // The tensor was being constructed when it was first recorded.
    DCMT_ASSIGN_OR_RETURN(RowId row, find_or_begin_storage(record.storage, record.data, record.bytes, record.stack));
    live->row.storage = row;
    return {};
  }
  DCMT_ASSIGN_OR_RETURN(Point left, journal_.rows.end_of_storage(old.storage));
  const Point moved = left.set() ? left : journal_.now;
  DCMT_RETURN_IF_ERROR(tensors_.end(journal_.rows, record.tensor, moved));
  DCMT_RETURN_IF_ERROR(censuses_.tensor_ended(old.id));
  DCMT_ASSIGN_OR_RETURN(RowId row, find_or_begin_storage(record.storage, record.data, record.bytes, record.stack));
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
  DCMT_ASSIGN_OR_RETURN(RowId row, find_or_begin_storage(record.storage, record.data, record.bytes, record.stack));
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

}  // namespace dcmt::recorder
