#include "analyzer/storages/storage_bytes.h"

namespace dcmt::analyzer {

Bytes bytes_at(const TraceData& data, const Storage& storage, Sequence at) {
  if (!storage.span.covers(at)) return {};
  if (data.storage_changes.changed(storage.id)) return data.storage_changes.bytes_at(storage, at);
  for (const Block* block : data.blocks_by_storage.of(storage.id)) {
    if (block->span.ended() && block->span.to_seq <= at) return {};
  }
  return storage.bytes;
}

Maybe<Gone> first_gone(const TraceData& data, const Storage& storage, Sequence after) {
  Maybe<Gone> gone;
  const auto consider = [&](Gone one) {
    if (one.seq() > after && (!gone || one.seq() < gone->seq())) gone = one;
  };
  if (storage.span.ended()) consider(Gone(storage));
  if (data.storage_changes.changed(storage.id)) {
    if (const Maybe<Gone> loss = data.storage_changes.first_loss(storage.id, after)) consider(*loss);
  } else {
    for (const Block* block : data.blocks_by_storage.of(storage.id)) {
      if (block->span.ended()) consider(Gone(*block));
    }
  }
  return gone;
}

std::vector<const Block*> blocks_at(const TraceData& data, StorageId storage, Sequence at) {
  if (data.storage_changes.changed(storage)) return data.storage_changes.blocks_at(storage, at);
  std::vector<const Block*> found;
  for (const Block* block : data.blocks_by_storage.of(storage)) {
    if (block->span.covers(at)) found.push_back(block);
  }
  return found;
}

StringId device_of(const TraceData& data, StorageId storage) {
  const auto blocks = data.blocks_by_storage.of(storage);
  return blocks.begin() == blocks.end() ? StringId() : (*blocks.begin())->device;
}

Sequence begin_of(const TraceData& data, const Storage& storage) {
  Sequence begin = storage.span.from_seq;
  for (const Block* block : data.blocks_by_storage.of(storage.id)) begin = std::min(begin, block->span.from_seq);
  return begin;
}

}  // namespace dcmt::analyzer
