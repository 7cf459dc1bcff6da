// Segments of torch's allocator with free bytes that blocks keep, and whose blocks these are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/allocator/reserved_rows.h"
#include "analyzer/load/trace_data.h"
#include "analyzer/storages/holder_names.h"

namespace dcmt::analyzer {

/// A block that keeps free bytes of its segment from being given back.
struct KeepingBlock {
  BlockId block;
  Bytes bytes;
  std::optional<StorageId> storage;
  std::optional<std::string> holder;
  std::string site;
  bool waits = false;

  static constexpr std::string_view kShape = "keeping_block";
  static void describe(auto&& field) {
    field("block", &KeepingBlock::block, "");
    field("bytes", &KeepingBlock::bytes, "");
    field("storage", &KeepingBlock::storage, "");
    field("holder", &KeepingBlock::holder, "by readings of the memory; null: not known");
    field("site", &KeepingBlock::site, "where it was allocated");
    field("waits", &KeepingBlock::waits, "it was freed, and another stream still uses it");
  }
};

/// A segment with free bytes that blocks keep.
struct KeptSegment {
  std::string address;
  Bytes bytes, free, largest_free;
  std::int64_t stream = 0, pool = 0, blocks = 0;
  std::vector<KeepingBlock> largest;

  static constexpr std::string_view kShape = "kept_segment";
  static void describe(auto&& field) {
    field("address", &KeptSegment::address, "hexadecimal");
    field("bytes", &KeptSegment::bytes, "");
    field("free_bytes", &KeptSegment::free, "of them: free, and cannot be given back");
    field("largest_free_bytes", &KeptSegment::largest_free, "in one piece");
    field("stream", &KeptSegment::stream, "0: the default one");
    field("pool", &KeptSegment::pool, "0: no private one");
    field("blocks", &KeptSegment::blocks, "alive in it, or waiting for a stream");
    field("largest", &KeptSegment::largest, "the largest three of them");
  }
};

/// The segments with most free bytes.
[[nodiscard]] std::vector<KeptSegment> kept_segments(const TraceData& data, const HolderNames& names,
                                                     const ReservedAt& reserved, std::size_t most);

}  // namespace dcmt::analyzer
