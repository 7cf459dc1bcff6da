#include "analyzer/storages/storage_bytes.h"

namespace dcmt::analyzer {

Bytes bytes_at(const TraceData& data, const Storage& storage, Sequence at) {
  if (!storage.span.covers(at)) return {};
  Bytes bytes = storage.bytes;
  Sequence changed;
  for (const Mark* mark : data.marks_by_storage.of(storage.id)) {
    if (mark->kind != MarkKind::kResize || mark->span.from_seq > at || mark->span.from_seq < changed) continue;
    changed = mark->span.from_seq;
    bytes = mark->bytes.value_or(Bytes());
  }
  bool had_block = false;
  for (const Block* block : data.blocks_by_storage.of(storage.id)) {
    if (block->span.from_seq > at) continue;
    if (block->span.covers(at)) return bytes;
    had_block = true;
  }
  return had_block ? Bytes() : bytes;
}

std::optional<Gone> first_gone(const TraceData& data, const Storage& storage, Sequence after) {
  std::optional<Gone> gone;
  const auto consider = [&](GoneBy by, Sequence seq, TimeNs ns, const Actor& actor) {
    if (seq > after && (!gone || seq < gone->seq)) gone = Gone{by, seq, ns, actor, std::nullopt};
  };
  if (storage.span.ended()) {
    consider(GoneBy::kStorageEnd, storage.span.to_seq, storage.span.to_ns, storage.end);
    if (gone) gone->ordinal = storage.end_ordinal;
  }
  for (const Mark* mark : data.marks_by_storage.of(storage.id)) {
    if (mark->kind == MarkKind::kResize && mark->bytes == Bytes(0)) {
      consider(GoneBy::kResize, mark->span.from_seq, mark->span.from_ns, mark->by);
    }
  }
  // A free counts only if it leaves no block: a resize to another size takes the new block before it frees the old.
  for (const Block* freed : data.blocks_by_storage.of(storage.id)) {
    if (!freed->span.ended()) continue;
    bool another = false;
    for (const Block* block : data.blocks_by_storage.of(storage.id)) {
      another = another || (block != freed && block->span.covers(freed->span.to_seq));
    }
    if (!another) consider(GoneBy::kBlockFree, freed->span.to_seq, freed->span.to_ns, freed->end);
  }
  return gone;
}

StringId device_of(const TraceData& data, StorageId storage) {
  const auto blocks = data.blocks_by_storage.of(storage);
  return blocks.begin() == blocks.end() ? StringId() : (*blocks.begin())->device;
}

}  // namespace dcmt::analyzer
