// Writes rows into a trace: prepared statements for every table, and interning of strings, frames and stacks.
//
// Thread-safety: none. One writer per trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/sql/database.h"
#include "trace/sql/rows.h"

namespace dcmt {

class TraceWriter {
 public:
  /// Uses a trace from create_trace() or reopen_trace(), and continues with what it has interned.
  static Expected<TraceWriter> create(Database database);

  TraceWriter(TraceWriter&&) noexcept = default;
  TraceWriter& operator=(TraceWriter&&) noexcept = default;

  [[nodiscard]] Database& database() { return database_; }

  Status begin();
  Status commit();

  /// Writes a row under its id; replaces an earlier state of the same row.
  Status write(const ThreadRow& row);
  Status write(const OperatorRow& row);
  Status write(const BlockRow& row);
  Status write(const StorageRow& row);
  Status write(const TensorRow& row);
  Status write(const MarkRow& row);
  Status write(const LaunchesRow& row);
  Status write(const SampleRow& row);
  Status write(const EdgeRow& row);
  Status write(const DiagnosticRow& row);
  Status write(const LossRow& row);
  Status write(const OutOfMemoryRow& row);
  Status write(const SourceLineRow& row);
  Status write(const IntervalRow& row);
  Status write(const IntervalCurveRow& row);
  Status write(const KeySumRow& row);
  Status write(const ParameterRow& row);
  Status write(const OperatorAliasRow& row);
  Status write(const ScanRow& row);
  Status write(const OwnerRow& row);
  Status write(const HeldRow& row);
  Status write(const ContainerRow& row);
  Status write(const HeldInRow& row);
  Status write(const ResidentRow& row);
  Status write(const GpuMemoryRow& row);
  Status write(const MappedRow& row);
  Status write(const ArrayHolderRow& row);
  Status write(const SegmentRow& row);

  /// Removes the row with this id; does nothing if there is none.
  Status erase(const OperatorRow& row) { return erase(kEraseOperator, row.id); }
  Status erase(const BlockRow& row) { return erase(kEraseBlock, row.id); }
  Status erase(const StorageRow& row) { return erase(kEraseStorage, row.id); }
  Status erase(const TensorRow& row) { return erase(kEraseTensor, row.id); }
  Status erase(const MarkRow& row) { return erase(kEraseMark, row.id); }
  Status erase(const LaunchesRow& row) { return erase(kEraseLaunches, row.id); }
  Status erase(const SampleRow& row) { return erase(kEraseSample, row.id); }
  Status erase(const EdgeRow& row) { return erase(kEraseEdge, row.id); }
  /// Removes the curves of the interval, too.
  Status erase(const IntervalRow& row);

  /// Whether the row of a lifetime is in the trace.
  Expected<bool> has(const OperatorRow& row);
  Expected<bool> has(const BlockRow& row);
  Expected<bool> has(const StorageRow& row);
  Expected<bool> has(const TensorRow& row);

  /// Removes all marks of steps, and the step numbers of the intervals.
  Status forget_steps();

  /// Bytes of the file's used pages, including the pages that still wait in the write-ahead log.
  Expected<std::int64_t> used_bytes();

  /// Copies a file's text into the trace.
  Status write_source(RowId path, std::string_view text);

  Status set_meta(std::string_view key, std::string_view value);
  Status set_meta(std::string_view key, std::int64_t value);

  /// The id of a text, frame or stack. The first call for a content writes it.
  Expected<RowId> intern(std::string_view text);
  Expected<RowId> frame(RowId file, RowId function, std::int64_t line);
  Expected<RowId> stack(RowId parent, RowId frame);

  /// Reserves an id whose content is defined later: a record may name a content that another thread has not published
  /// yet.
  RowId reserve_string() { return next_string_++; }
  RowId reserve_stack() { return next_stack_++; }
  RowId reserve_frame() { return next_frame_++; }
  Status define_string(RowId id, std::string_view text);
  Status define_frame(RowId id, RowId file, RowId function, std::int64_t line);
  Status define_stack(RowId id, RowId parent, RowId frame);

 private:
  struct FrameKey {
    RowId file, function;
    std::int64_t line;
    bool operator==(const FrameKey&) const = default;
  };
  struct StackKey {
    RowId parent, frame;
    bool operator==(const StackKey&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const FrameKey& key) const noexcept;
    std::size_t operator()(const StackKey& key) const noexcept;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  enum Table : std::size_t {
    kThread,
    kOperator,
    kBlock,
    kStorage,
    kTensor,
    kMark,
    kLaunches,
    kSample,
    kEdge,
    kDiagnostic,
    kLoss,
    kOutOfMemory,
    kSourceLine,
    kSource,
    kMeta,
    kString,
    kFrame,
    kStack,
    kInterval,
    kIntervalCurve,
    kKeySum,
    kParameter,
    kOperatorAlias,
    kScan,
    kOwner,
    kHeld,
    kContainer,
    kHeldIn,
    kResident,
    kMapped,
    kArrayHolder,
    kSegment,
    kGpuMemory,
    kEraseOperator,
    kEraseBlock,
    kEraseStorage,
    kEraseTensor,
    kEraseMark,
    kEraseLaunches,
    kEraseSample,
    kEraseEdge,
    kEraseInterval,
    kEraseIntervalCurve,
    kHasOperator,
    kHasBlock,
    kHasStorage,
    kHasTensor,
    kUsed,
    kBegin,
    kCommit,
    kTables
  };

  explicit TraceWriter(Database database) : database_(std::move(database)) {}
  Status prepare();
  Status load();
  Status erase(Table table, RowId id);
  Expected<bool> has(Table table, RowId id);

  Database database_;
  std::vector<Statement> statements_;  ///< one per Table
  std::unordered_map<std::string, RowId, TextHash, std::equal_to<>> strings_;
  std::unordered_map<FrameKey, RowId, KeyHash> frames_;
  std::unordered_map<StackKey, RowId, KeyHash> stacks_;
  RowId next_string_ = 1;
  RowId next_frame_ = 1;
  RowId next_stack_ = 1;
};

}  // namespace dcmt
