// What the parts of the Assembler share: the writer, the next free row ids, and the time of the current record.
#pragma once

#include <cstdint>
#include <string_view>

#include "collector/recorder/keep/private_state.h"
#include "collector/recorder/keep/row_keeper.h"
#include "trace/base/status.h"
#include "trace/sql/trace_writer.h"

namespace dcmt::recorder {

/// The next free id of every table whose ids are assigned before the rows are written. For operators, blocks, storages
/// and tensors, the id is the sequence of the record that made them.
struct RowIds {
  RowId mark = 1;
  RowId sample = 1;
  RowId edge = 1;
  RowId diagnostic = 1;
  RowId loss = 1;
};

/// Thread-safety: none.
struct Journal {
  TraceWriter& writer;
  PrivateState state;
  RowKeeper rows;  ///< for operators, lifetimes, marks, samples and edges
  RowIds ids = {};
  Point now = {};            ///< of the record that is being applied
  std::uint32_t thread = 0;  ///< number of its thread
  std::uint64_t bad_records = 0;

  /// Writes a diagnostic row at the current time. `code` must be static text.
  Status diagnose(std::string_view code, std::string_view text);

  /// Reports an invalid record, up to a limit: a damaged spool must not fill the disk.
  Status bad_record(std::string_view what);

  /// Finds the next free ids in an unfinished trace.
  Status load_ids();
};

}  // namespace dcmt::recorder
