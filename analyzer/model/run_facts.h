// How much of the run is in the trace: the facts at the end of every report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/releases/releases.h"
#include "trace/base/detail.h"
#include "trace/base/memory_error.h"

namespace dcmt::analyzer {

struct LossFact {
  std::string reason;
  std::int64_t count = 0;

  static constexpr std::string_view kShape = "loss";
  static void describe(auto&& field) {
    field("reason", &LossFact::reason, "");
    field("count", &LossFact::count, "");
  }
};

struct DiagnosticFact {
  std::string code, text;  ///< `text`: of the first one
  std::int64_t count = 0;

  [[nodiscard]] bool ends_program() const { return text.starts_with(kMemoryErrorNote); }

  static constexpr std::string_view kShape = "diagnostic";
  static void describe(auto&& field) {
    field("code", &DiagnosticFact::code, "");
    field("text", &DiagnosticFact::text, "");
    field("count", &DiagnosticFact::count, "");
  }
};

struct KeptFact {
  Kept why = Kept::kAll;
  std::int64_t steps = 0;

  static constexpr std::string_view kShape = "kept";
  static void describe(auto&& field) {
    field(
        "why", [](const KeptFact& fact) { return text_of(fact.why); },
        "\"all\", \"steps\", \"every\", \"peak\", \"finding\", \"last\"; see `interval` in schema.md");
    field("steps", &KeptFact::steps, "");
  }
};

/// The kernel killed the program because the memory of its control group had reached the limit.
struct GroupKill {
  Bytes limit;
  bool seen = false;  ///< the kernel counts it; else the recorder was killed, too, with the group near its limit
  std::optional<Bytes> used;            ///< by the group, at the last sample
  std::optional<Bytes> process, torch;  ///< of the process itself, at the last sample

  static constexpr std::string_view kShape = "group_kill";
  static void describe(auto&& field) {
    field("limit_bytes", &GroupKill::limit, "what the group may use (memory.max)");
    field("seen", &GroupKill::seen,
          "the kernel counts it; false: the recorder was killed, too, with the group at 95 % of its limit or more");
    field("used_bytes", &GroupKill::used, "by the group at the last sample, with the page cache of its files");
    field("process_bytes", &GroupKill::process, "resident of the process then");
    field("torch_bytes", &GroupKill::torch, "that torch's allocator of the CPU had handed out then");
  }
};

struct RunFacts {
  std::string state;  ///< 'recording', 'finished', 'recovered'; empty: the trace does not say
  std::string command, exit, torch, python, detail, tool_version;
  std::string history;  ///< of a memory snapshot: "whole", "late" or "none"; else empty
  std::int64_t pid = 0, rank = -1, world_size = -1;
  std::int64_t steps = 0;                                  ///< that ended
  std::int64_t steps_kept = 0;                             ///< steps whose rows are in the trace, not only their sums
  std::vector<KeptFact> kept;                              ///< by reason, in the order of Kept
  std::int64_t final_releases = 0, residual_releases = 0;  ///< of the whole run, as the recorder counted
  std::optional<std::int64_t> records;
  std::int64_t lost = 0;
  std::vector<LossFact> losses;               ///< by reason
  std::optional<std::int64_t> sequence_gaps;  ///< records that have a sequence number but are not in the trace
  std::int64_t releases_with_bytes = 0;       ///< final, not persistent, with bytes right after the release
  std::int64_t censuses = 0;                  ///< of these releases
  std::int64_t unexplained = 0;               ///< over all censuses
  std::vector<DiagnosticFact> diagnostics;    ///< diagnostics that differ only in addresses are counted together
  std::optional<double> seconds;              ///< from start to the last record
  std::optional<double> recorder_cores;       ///< processor time of the recorder per second
  std::optional<GroupKill> group_kill;        ///< set after signal 9 if the kernel counted a kill in the group

  /// True if the trace was made of a memory snapshot of torch, which has blocks, but no holders, reads and releases.
  [[nodiscard]] bool of_snapshot() const { return detail == kSnapshotDetail; }

  static constexpr std::string_view kShape = "facts";
  static void describe(auto&& field) {
    field("state", &RunFacts::state, "\"recording\", \"finished\", \"recovered\"");
    field("command", &RunFacts::command, "");
    field(
        "exit", &RunFacts::exit,
        "\"exit N\", \"signal N\"; where nobody but its parent has the exit code: \"exit unseen\" if it left in order, "
        "else \"unknown\"; \"exec\" if another program took its place, \"still running\" if the recording ended first, "
        "\"unseen\" if nothing is known");
    field("torch", &RunFacts::torch, "");
    field("python", &RunFacts::python, "");
    field("detail", &RunFacts::detail, "of `run`; \"snapshot\": the trace was made of a memory snapshot of torch");
    field("history", &RunFacts::history,
          "of a memory snapshot of torch: \"whole\", \"late\" (its peak may have been before), \"none\" (no peak); "
          "else \"\"");
    field("tool_version", &RunFacts::tool_version, "");
    field("pid", &RunFacts::pid, "");
    field("world_size", &RunFacts::world_size, "");
    field("steps", &RunFacts::steps, "that ended");
    field("steps_kept", &RunFacts::steps_kept,
          "of those: everything about them is in the trace; of the others only sums are");
    field("kept", &RunFacts::kept, "the steps kept, by reason");
    field("final_releases", &RunFacts::final_releases, "of the whole run");
    field("residual_releases", &RunFacts::residual_releases,
          "of those: bytes were alive at the thread's next activity, those of pools included");
    field("records", &RunFacts::records, "");
    field("lost", &RunFacts::lost, "");
    field("losses", &RunFacts::losses, "");
    field("sequence_gaps", &RunFacts::sequence_gaps, "");
    field("releases_with_bytes", &RunFacts::releases_with_bytes, "final releases that left bytes right after");
    field("censuses", &RunFacts::censuses, "of those");
    field("unexplained", &RunFacts::unexplained, "references, over all censuses of the trace");
    field("diagnostics", &RunFacts::diagnostics, "");
    field("seconds", &RunFacts::seconds, "recorded");
    field("recorder_cores", &RunFacts::recorder_cores, "");
    field("group_kill", &RunFacts::group_kill,
          "the program ended by signal 9, or with its recorder, when its control group had reached its limit");
  }
};

[[nodiscard]] RunFacts run_facts(const TraceData& data, const Releases& releases);

}  // namespace dcmt::analyzer
