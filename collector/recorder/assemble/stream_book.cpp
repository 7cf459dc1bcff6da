#include "collector/recorder/assemble/stream_book.h"

#include <cstdint>
#include <cstring>
#include <iterator>
#include <set>

#include "collector/recorder/decode/record_view.h"

namespace dcmt::recorder {

Status StreamBook::call(std::string_view bytes) {
  const auto record = view_as<wire::StreamCallRecord>(bytes);
  const std::uint32_t kind = record ? record->header.aux & 0xff : 0;
  if (!record || kind >= std::size(StreamCallRow::kKinds)) return journal_.bad_record("a call with a stream");
  // Rows of intervals that are not kept are written, too: a use may be ordered there.
  if (journal_.rows.full()) return {};
  std::set<RowId> blocks;
  for (std::size_t at = sizeof *record; at + sizeof(std::uint64_t) <= bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t address = 0;
    std::memcpy(&address, bytes.data() + at, sizeof address);
    if (const RowId block = lifetimes_.gpu_block_at(address); block != 0) blocks.insert(block);
  }
  const auto call = static_cast<wire::StreamCall>(kind);
  // It orders nothing, and nothing is known of what it uses.
  if (call <= wire::StreamCall::kGraph && blocks.empty()) return {};
  StreamCallRow row;
  row.id = journal_.now.seq;
  row.ns = journal_.now.ns;
  row.kind = StreamCallRow::kKinds[kind];
  DCMT_ASSIGN_OR_RETURN(row.stream, streams_.of(record->stream));
  row.blocks = (record->header.aux & wire::kStreamBlocks) != 0;
  row.event = static_cast<std::int64_t>(record->event);
  DCMT_ASSIGN_OR_RETURN(row.name, dictionary_.kernel_name(record->name));
  DCMT_ASSIGN_OR_RETURN(row.where, lifetimes_.place(record->stack));
  DCMT_RETURN_IF_ERROR(journal_.writer.write(row));
  for (const RowId block : blocks) DCMT_RETURN_IF_ERROR(journal_.writer.write(StreamUseRow{row.id, block}));
  return {};
}

}  // namespace dcmt::recorder
