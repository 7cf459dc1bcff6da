// One trace in memory: plain rows in columns, loaded once. Every analysis is a function of it.
//
// Rows keep the ids of the file (trace/tables declares each column). A NULL reference becomes a zero id; a
// lifetime without an end has a zero `to`. Texts went through printable(), so that every front end can print them.
// Numbers are limited so that no sum of a column overflows. Thread-safety: const after load, so any number of threads
// may read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/allocator_history.h"
#include "analyzer/load/column.h"
#include "analyzer/load/forked_memory.h"
#include "analyzer/load/gpu_memory.h"
#include "analyzer/load/huge_pages.h"
#include "analyzer/load/job_history.h"
#include "analyzer/load/lifetime_index.h"
#include "analyzer/load/native_memory.h"
#include "analyzer/load/owners.h"
#include "analyzer/load/process_memory.h"
#include "analyzer/load/storage_changes.h"
#include "analyzer/load/stream_history.h"
#include "analyzer/load/trace_rows.h"
#include "analyzer/load/watch.h"
#include "analyzer/load/watched_counts.h"
#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

/// See the top of this file. Movable, not copyable: the indexes point into the columns.
class TraceData {
 public:
  TraceData() = default;
  TraceData(TraceData&&) noexcept = default;
  TraceData& operator=(TraceData&&) noexcept = default;
  TraceData(const TraceData&) = delete;
  TraceData& operator=(const TraceData&) = delete;
  ~TraceData() = default;

  /// Reads everything in one transaction, so that a trace that still grows is read in one consistent state. Fails as
  /// the database does (kBadInput for a damaged file), or with kStopped if `watch` stops it.
  static Expected<TraceData> load(Database& database, const Watch& watch = {});

  std::string path;  ///< as messages print it
  std::map<std::string, MetaValue, std::less<>> meta;
  Column<Thread> threads;
  Column<Frame> frames;
  Column<Stack> stacks;
  Column<Operator> operators;
  Column<Block> blocks;
  Column<Storage> storages;
  Column<Tensor> tensors;
  Column<Mark> marks;
  std::vector<Resize, HugePages<Resize>> resizes;  ///< ordered by storage, then by time
  Column<Sample> samples;
  Column<Edge> edges;
  Column<Diagnostic> diagnostics;
  Column<Loss> losses;
  std::vector<OutOfMemory> out_of_memory;      ///< in order
  std::vector<Interval> intervals;             ///< in order; empty in a complete trace without records
  std::vector<IntervalCurve> interval_curves;  ///< of the intervals without rows, in order
  std::vector<DevicePeaks> device_peaks;       ///< of the devices for which they are known
  std::vector<IntervalReserved> reserved;      ///< of the same devices, in order
  std::vector<StreamWait> stream_waits;        ///< of blocks that ended, ascending by block
  std::vector<KeySum> key_sums;
  std::vector<Parameter> parameters;      ///< ascending by key
  std::vector<LaunchesSoFar> launches;    ///< in order
  Owners owners;                          ///< as scans of the memory found them
  AllocatorHistory allocators;            ///< of GPUs
  StreamHistory streams;                  ///< work on their streams, and what orders it
  std::vector<GpuMemory> gpu_memory;      ///< as the driver counted it, by GPU and time
  ProcessMemory memory;                   ///< as the kernel counted it
  ForkedMemory forked;                    ///< of the process's forked children
  JobHistory job;                         ///< of all processes of the job, if this trace has it
  NativeMemory native;                    ///< allocations of C and C++, sampled
  WatchedCounts watched;                  ///< reference counts, with each change
  std::vector<SourceFile> sources;        ///< ascending by path
  std::vector<StringId> generated_files;  ///< files with a map to the model's source, ascending

  RowIndex<Sequence, Block> blocks_by_begin;
  RowIndex<Sequence, Block> blocks_by_end;  ///< of the blocks that ended
  RowIndex<StorageId, Block> blocks_by_storage;
  RowIndex<StorageId, Tensor> tensors_by_storage;
  RowIndex<StorageId, Mark> marks_by_storage;
  RowIndex<MarkId, Mark> marks_by_parent;
  RowIndex<MarkId, Edge> edges_by_census;
  RowIndex<MarkId, Sample> samples_by_census;
  StorageChanges storage_changes;
  LifetimeIndex lifetimes;  ///< of the blocks

  /// The first interval without rows that overlaps the range after `from` up to `to`; nullptr if the trace has all
  /// rows.
  [[nodiscard]] const Interval* sums_only_in(Sequence from, Sequence to) const;
  [[nodiscard]] const Interval* sums_only_at(Sequence at) const { return sums_only_in(Sequence(at.value - 1), at); }
  /// True if the trace has only the sums of some interval.
  [[nodiscard]] bool has_sums_only() const { return has_sums_only_; }

  /// Empty for the zero id.
  [[nodiscard]] std::string_view text(StringId id) const;
  [[nodiscard]] std::optional<std::int64_t> meta_integer(std::string_view key) const;
  /// Empty if absent.
  [[nodiscard]] std::string meta_text(std::string_view key) const;

  /// Adds a text of the analyzer to the texts of the file.
  StringId intern(std::string_view text);

 private:
  Status load_all(Database& database, const Watch& watch);
  Status load_meta(Database& database);
  Status load_texts(Database& database);
  Status load_marks(Database& database);
  Status load_censuses(Database& database);
  Status load_rows(Database& database);
  Status load_losses(Database& database);
  Status load_intervals(Database& database);
  Status load_device_peaks(Database& database);
  Status load_parameters(Database& database);
  Status load_stream_waits(Database& database);
  Status load_out_of_memory(Database& database, const std::vector<StringId>& gpus);
  [[nodiscard]] Status check_sums() const;
  void build_indexes();
  void index_blocks();

  bool has_sums_only_ = false;

  struct StringRow {
    StringId id;
    std::string text;
  };
  Column<StringRow> strings_;
  std::map<std::string, StringId, std::less<>> own_strings_;
  std::vector<std::string_view> own_texts_;  ///< keys of own_strings_: its nodes never move
};

}  // namespace dcmt::analyzer
