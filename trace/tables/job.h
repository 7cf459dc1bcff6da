// Memory of all processes of the job, as the kernel counts it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/tables/column.h"
#include "trace/tables/point.h"

namespace dcmt {

/// One time at which the memory of the whole job was counted; bytes.
struct JobRow {
  RowId id = 0;
  std::int64_t ns = 0;
  std::int64_t pid = 0, start = 0;
  std::optional<std::int64_t> used = {}, anonymous = {}, file = {}, mapped = {}, shared = {}, kernel = {};
  std::optional<std::int64_t> changed = {};

  static constexpr Table kTable{
      .name = "job",
      .meaning =
          "When the memory of the whole job was counted, and the figures of its control group if nothing else runs in "
          "it. One trace of a run has these rows.",
      .since = 16};
  static constexpr void describe(auto&& column) {
    column(&JobRow::id, Cell{"id", "id", ""});
    column(&JobRow::ns, Cell{"ns", "ns", ""});
    column(&JobRow::pid, Cell{"pid", "number", "of the job's first process, in the recorder's namespace"});
    column(&JobRow::start, Cell{"start", "number", "when it was started; clock ticks since boot"});
    column(&JobRow::used, Cell{"used", "bytes",
                               "in use by the control group; NULL: others run in it, too, or it is not known; then the "
                               "next ones are NULL, too"});
    column(&JobRow::anonymous, Cell{"anonymous", "bytes", "of these, memory without a file"});
    column(&JobRow::file, Cell{"file", "bytes", "page cache of files"});
    column(&JobRow::mapped,
           Cell{"mapped", "bytes", "of the page cache and of the shared memory, what processes have mapped"});
    column(&JobRow::shared, Cell{"shared", "bytes", "shared memory, and files of file systems in memory"});
    column(&JobRow::kernel, Cell{"kernel", "bytes", "of the kernel: page tables, stacks, network buffers"});
    column(&JobRow::changed,
           Cell{"changed", "bytes", "how much the use differed before and after the processes were read"});
  }
};

/// A process of the job at that time; bytes that it shares count in equal parts for those that have them.
struct JobProcessRow {
  RowId sample = 0;
  std::int64_t pid = 0, start = 0, parent = 0;
  RowId name = 0;
  std::string_view role;  ///< static text
  std::optional<std::int64_t> rank = {};
  std::int64_t anonymous = 0, file = 0, shared = 0, swapped = 0, resident = 0;

  static constexpr Table kTable{.name = "job_process",
                                .meaning =
                                    "The processes at that time. Pages that several processes have count in equal "
                                    "parts for each of them (PSS).",
                                .since = 16,
                                .key = "sample, pid"};
  static constexpr void describe(auto&& column) {
    column(&JobProcessRow::sample, Cell{"sample", "job", ""});
    column(&JobProcessRow::pid, Cell{"pid", "number", "in the recorder's namespace"});
    column(&JobProcessRow::start, Cell{"start", "number", "clock ticks since boot"});
    column(&JobProcessRow::parent, Cell{"parent", "number", "its parent's pid then"});
    column(&JobProcessRow::name, Cell{"name", "string", "of its main thread"});
    column(&JobProcessRow::role,
           Cell{"role", "text",
                "`recorded`; `forked` from another process of the job, without an exec; `child`: another descendant; "
                "`recorder`; `around`: a process that started the recorder, and is in the control group"});
    column(&JobProcessRow::rank, Cell{"rank", "number", "NULL: none, or not known"});
    column(&JobProcessRow::anonymous, Cell{"anonymous", "bytes", "in memory that belong to no file"});
    column(&JobProcessRow::file, Cell{"file", "bytes", "in memory of files that are mapped"});
    column(&JobProcessRow::shared, Cell{"shared", "bytes", "in memory of shared memory that is mapped"});
    column(&JobProcessRow::swapped, Cell{"swapped", "bytes", "in swap"});
    column(&JobProcessRow::resident, Cell{"resident", "bytes", "in memory, shared ones in full"});
  }
};

/// Segments of shared memory of one owner at that time.
struct JobSharedRow {
  RowId sample = 0;
  std::int64_t position = 0;
  std::string_view kind;  ///< static text
  std::optional<std::int64_t> pid = {};
  std::int64_t segments = 0, bytes = 0;
  RowId name = 0;

  static constexpr Table kTable{.name = "job_shared",
                                .meaning = "Shared memory of the job at that time, by kind and owner.",
                                .since = 16,
                                .key = "sample, position"};
  static constexpr void describe(auto&& column) {
    column(&JobSharedRow::sample, Cell{"sample", "job", ""});
    column(&JobSharedRow::position, Cell{"position", "number", "0: most bytes"});
    column(&JobSharedRow::kind, Cell{"kind", "text",
                                     "`tensors` of torch's processes, `nccl`, `recorder` (spools), `other`, or `left`: "
                                     "a file that no process has "
                                     "open"});
    column(&JobSharedRow::pid,
           Cell{"pid", "number",
                "the owner: the process that torch's name has, or else the oldest one that has it; NULL: none"});
    column(&JobSharedRow::segments, Cell{"segments", "number", ""});
    column(&JobSharedRow::bytes, Cell{"bytes", "bytes", "in memory, each segment once"});
    column(&JobSharedRow::name, Cell{"name", "string", "of the largest one"});
  }
};

}  // namespace dcmt
