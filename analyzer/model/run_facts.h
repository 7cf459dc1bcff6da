// How much of the run is in the trace: the facts that stand below every report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/releases/releases.h"

namespace dcmt::analyzer {

struct LossFact {
  std::string reason;
  std::int64_t count = 0;
};

struct DiagnosticFact {
  std::string code, text;  ///< text: of the first
  std::int64_t count = 0;
};

struct KeptFact {
  Kept why = Kept::kAll;
  std::int64_t steps = 0;
};

struct RunFacts {
  std::string state;  ///< 'recording', 'finished', 'recovered'; empty if the trace does not say
  std::string command, exit, torch, python, detail, tool_version;
  std::int64_t pid = 0, rank = -1, world_size = -1;
  std::int64_t steps = 0;       ///< that ended
  std::int64_t steps_kept = 0;  ///< of those: their rows are in the trace, not their sums alone
  std::vector<KeptFact> kept;   ///< by reason, in the order of Kept
  std::int64_t final_releases = 0, residual_releases = 0;  ///< of the whole run, by the recorder's count
  std::optional<std::int64_t> records;
  std::int64_t lost = 0;
  std::vector<LossFact> losses;               ///< by reason
  std::optional<std::int64_t> sequence_gaps;  ///< records that the total order has and the trace has not
  std::int64_t releases_with_bytes = 0;       ///< final, not persistent, bytes left right after
  std::int64_t censuses = 0;                  ///< of those releases
  std::int64_t unexplained = 0;               ///< over all censuses
  std::vector<DiagnosticFact> diagnostics;    ///< those that differ in addresses only together
  std::optional<double> seconds;              ///< from start to the last record
  std::optional<double> recorder_cores;       ///< the recorder's processor time by that
};

[[nodiscard]] RunFacts run_facts(const TraceData& data, const Releases& releases);

}  // namespace dcmt::analyzer
