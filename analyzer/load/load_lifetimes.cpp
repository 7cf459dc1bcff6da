#include "analyzer/load/load_lifetimes.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "analyzer/load/row_cursor.h"

namespace dcmt::analyzer {

Status read_operators(Database& database, const Stretch& stretch, Column<Operator>& operators) {
  return read_rows(
      database,
      "SELECT id, parent_back, thread, name, scope_code, ordinal, late, seq_length, from_ns, ns_length FROM operator"
      " WHERE id BETWEEN ? AND ? ORDER BY id",
      [&](Cursor& in) {
        Operator op;
        op.id = in.id<OperatorId>();
        op.parent = in.back<OperatorId>(op.id.value);
        op.thread = in.id<ThreadId>();
        op.name = in.id<StringId>();
        op.scope = static_cast<OperatorScope>(std::clamp<std::int64_t>(in.integer(), 0, 2));
        op.ordinal = in.integer();
        op.span = in.lifetime(op.id.value);
        operators.push_back(op);
      },
      stretch);
}

Status read_blocks(Database& database, const Stretch& stretch, const Devices& devices, Column<Block>& blocks) {
  return read_rows(
      database,
      std::string("SELECT id, bytes, gpu, storage_back, thread, operator_back, stack, free_thread, free_operator_back,"
                  " free_stack, late, seq_length, from_ns, ns_length, ") +
          (devices.has_owners ? "owner, " : "NULL, ") + (devices.has_streams ? "stream" : "NULL") +
          " FROM block WHERE id BETWEEN ? AND ? ORDER BY id",
      [&](Cursor& in) {
        Block block;
        block.id = in.id<BlockId>();
        block.bytes = in.bytes();
        const std::optional<std::int64_t> gpu = in.gpu();
        block.device = gpu ? devices.gpus[static_cast<std::size_t>(*gpu)] : devices.cpu;
        block.storage = in.back<StorageId>(block.id.value);
        block.birth = in.actor(block.id.value);
        block.end = in.actor(block.id.value);
        block.span = in.lifetime(block.id.value);
        block.owner = in.id<StringId>();
        block.stream = in.stream();
        blocks.push_back(block);
      },
      stretch);
}

Status read_storages(Database& database, const Stretch& stretch, Column<Storage>& storages) {
  return read_rows(
      database,
      "SELECT id, bytes, first_seen, thread, operator_back, stack, end_thread, end_operator_back, end_stack,"
      " end_ordinal, late, seq_length, from_ns, ns_length FROM storage WHERE id BETWEEN ? AND ? ORDER BY id",
      [&](Cursor& in) {
        Storage storage;
        storage.id = in.id<StorageId>();
        storage.bytes = in.bytes();
        storage.first_seen = in.integer() != 0;
        storage.birth = in.actor(storage.id.value);
        storage.end = in.actor(storage.id.value);
        storage.end_ordinal = in.optional_integer();
        storage.span = in.lifetime(storage.id.value);
        storages.push_back(storage);
      },
      stretch);
}

Status read_tensors(Database& database, const Stretch& stretch, Column<Tensor>& tensors) {
  return read_rows(
      database,
      "SELECT id, first, storage_back, thread, operator_back, stack, late, seq_length, from_ns, ns_length FROM tensor"
      " WHERE id BETWEEN ? AND ? ORDER BY id",
      [&](Cursor& in) {
        Tensor tensor;
        tensor.id = in.id<TensorId>();
        tensor.object = in.id<TensorId>();
        if (!tensor.object.valid()) tensor.object = tensor.id;
        tensor.storage = in.back<StorageId>(tensor.id.value);
        tensor.birth = in.actor(tensor.id.value);
        tensor.span = in.lifetime(tensor.id.value);
        tensors.push_back(tensor);
      },
      stretch);
}

}  // namespace dcmt::analyzer
