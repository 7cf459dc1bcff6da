#include "analyzer/load/load_lifetimes.h"

#include <cstddef>

#include "analyzer/load/table_reader.h"

namespace dcmt::analyzer {

Status read_operators(Database& database, const Stretch& stretch, Column<Operator>& operators) {
  return read_rows<Operator>(
      database, stretch, [&](const Operator& op) { operators.push_back(op); },
      column<&OperatorRow::id, &Operator::id>(), column<&OperatorRow::parent, &Operator::parent>(),
      column<&OperatorRow::thread, &Operator::thread>(), column<&OperatorRow::name, &Operator::name>(),
      column<&OperatorRow::scope, &Operator::scope>(), column<&OperatorRow::ordinal, &Operator::ordinal>(),
      column<&OperatorRow::span, &Operator::span>());
}

Status read_blocks(Database& database, const Stretch& stretch, const Devices& devices, Column<Block>& blocks) {
  return read_rows<Block>(
      database, stretch, [&](const Block& block) { blocks.push_back(block); }, column<&BlockRow::id, &Block::id>(),
      column<&BlockRow::bytes, &Block::bytes>(),
      column<&BlockRow::gpu>([&](Block& block, std::optional<std::int64_t> gpu) {
        block.device = gpu ? devices.gpus[static_cast<std::size_t>(*gpu)] : devices.cpu;
      }),
      column<&BlockRow::storage, &Block::storage>(), column<&BlockRow::birth, &Block::birth>(),
      column<&BlockRow::free, &Block::end>(), column<&BlockRow::span, &Block::span>(),
      column<&BlockRow::owner, &Block::owner>(), column<&BlockRow::module, &Block::module>(),
      column<&BlockRow::stream, &Block::stream>().when(devices.has_streams));
}

Status read_storages(Database& database, const Stretch& stretch, Column<Storage>& storages) {
  return read_rows<Storage>(
      database, stretch, [&](const Storage& storage) { storages.push_back(storage); },
      column<&StorageRow::id, &Storage::id>(), column<&StorageRow::bytes, &Storage::bytes>(),
      column<&StorageRow::first_seen, &Storage::first_seen>(), column<&StorageRow::birth, &Storage::birth>(),
      column<&StorageRow::end, &Storage::end>(), column<&StorageRow::end_ordinal, &Storage::end_ordinal>(),
      column<&StorageRow::span, &Storage::span>());
}

Status read_tensors(Database& database, const Stretch& stretch, Column<Tensor>& tensors) {
  return read_rows<Tensor>(
      database, stretch, [&](const Tensor& tensor) { tensors.push_back(tensor); },
      column<&TensorRow::id, &Tensor::id>(), column<&TensorRow::object, &Tensor::object>(),
      column<&TensorRow::storage, &Tensor::storage>(), column<&TensorRow::birth, &Tensor::birth>(),
      column<&TensorRow::span, &Tensor::span>());
}

}  // namespace dcmt::analyzer
