// Work on streams of GPUs, and what orders it, under `run --streams`.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/tables/column.h"
#include "trace/tables/point.h"

namespace dcmt {

/// A call to CUDA that gave a stream work, or that ordered work.
struct StreamCallRow {
  RowId id = 0;  ///< sequence
  std::int64_t ns = 0;
  std::string_view kind;  ///< static text
  std::int64_t stream = 0;
  bool blocks = false;
  std::int64_t event = 0;
  RowId name = 0;
  Place where;

  static constexpr std::string_view kKinds[] = {"kernel",   "copy",           "fill",        "graph",
                                                "record",   "wait",           "event done",  "stream done",
                                                "all done", "capture begins", "capture ends"};

  static constexpr Table kTable{
      .name = "stream_call",
      .meaning = "A call to CUDA that gave a stream work, or that ordered work (`run --streams`).",
      .since = 17};
  static constexpr void describe(auto&& column) {
    column(&StreamCallRow::id, Cell{"id", "seq", ""});
    column(&StreamCallRow::ns, Cell{"ns", "ns", ""});
    column(&StreamCallRow::kind,
           Cell{"kind", "text", "`wait`: the stream for the event; `done`: the host has observed it", 1, kKinds});
    column(&StreamCallRow::stream, Cell{"stream", "number", "as of a block"});
    column(&StreamCallRow::blocks, Cell{"blocks", "flag", "1: the stream and the default stream wait for each other"});
    column(&StreamCallRow::event, OrNull{"event", "address", "CUDA's handle"});
    column(&StreamCallRow::name, OrNull{"name", "string", "of the kernel, or of the function that copies"});
    column(&StreamCallRow::where, WholePlace{});
  }
};

/// Such a call got an address in a block.
struct StreamUseRow {
  RowId call = 0;
  RowId block = 0;

  static constexpr Table kTable{.name = "stream_use",
                                .meaning = "Blocks in which such a call got an address.",
                                .since = 17,
                                .key = "call, block"};
  static constexpr void describe(auto&& column) {
    column(&StreamUseRow::call, Cell{"call", "stream_call", ""});
    column(&StreamUseRow::block, Cell{"block", "block", ""});
  }
};

}  // namespace dcmt
