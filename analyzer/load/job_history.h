// The memory of all processes of the job, as one trace of a run has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/load/trace_rows.h"
#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

/// A process at a sample. What several processes have counts in equal parts for each.
struct ProcessOfJob {
  std::int64_t sample = 0;
  std::int64_t pid = 0, parent = 0;
  std::string name;  ///< of its main thread
  std::string role;  ///< "recorded", "forked", "child", "recorder" or "around"
  std::optional<std::int64_t> rank;
  Bytes anonymous, file, shared, swapped;
  Bytes resident;  ///< shared ones in full
};

/// Segments of shared memory of one kind and owner.
struct SharedOfJob {
  std::int64_t sample = 0;
  std::string kind;  ///< "tensors", "nccl", "recorder", "other" or "left"
  std::optional<std::int64_t> pid;
  std::int64_t segments = 0;
  Bytes bytes;
  std::string name;  ///< of the largest
};

struct JobSample {
  std::int64_t id = 0;
  TimeNs ns;
  std::int64_t pid = 0, start = 0;  ///< of the job's first process
  /// Of the control group; nothing: others run in it, too, or it is not known.
  std::optional<Bytes> used, anonymous, file, mapped, shared, kernel, changed;
  std::vector<ProcessOfJob> processes;  ///< by pid
  std::vector<SharedOfJob> segments;    ///< most bytes first
};

struct JobHistory {
  TimeNs begin;                    ///< of the trace
  std::int64_t pid = 0;            ///< of the trace's process
  std::vector<JobSample> samples;  ///< ascending by id

  /// Loads nothing from a trace before schema 16.
  static Expected<JobHistory> load(Database& database);
  /// Adds what another trace has of the same job: its samples have other ids, but for those that were copied.
  void add(JobHistory other);
};

}  // namespace dcmt::analyzer
