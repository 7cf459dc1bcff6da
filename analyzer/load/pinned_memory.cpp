#include "analyzer/load/pinned_memory.h"

#include "analyzer/load/table_reader.h"

namespace dcmt::analyzer {

Expected<std::vector<PinnedBlock>> PinnedBlock::load(Database& database) {
  std::vector<PinnedBlock> blocks;
  DCMT_ASSIGN_OR_RETURN(const bool has_owners, has<&BlockRow::owner>(database));
  if (!has_owners) return blocks;
  DCMT_RETURN_IF_ERROR(read_rows<PinnedBlock>(
      database,
      "JOIN string ON string.id = block.owner LEFT JOIN storage ON storage.id = block.storage"
      " WHERE string.text = 'pinned host memory' ORDER BY block.id",
      [&](const PinnedBlock& block) { blocks.push_back(block); },
      column<&BlockRow::id>([](PinnedBlock& block, Any id) { block.id = id.value; }),
      column<&BlockRow::address>([](PinnedBlock& block, Any address) { block.address = address.value; }),
      column<&BlockRow::span, &PinnedBlock::span>(), column<&BlockRow::bytes, &PinnedBlock::bytes>(),
      column<&StorageRow::bytes>([](PinnedBlock& block, std::optional<Bytes> bytes) { block.asked = bytes; })));
  return blocks;
}

}  // namespace dcmt::analyzer
