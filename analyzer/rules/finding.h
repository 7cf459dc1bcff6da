// A finding: a verdict with its evidence.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/devices/out_of_memory.h"
#include "analyzer/devices/streams.h"
#include "analyzer/growth/forked_growth.h"
#include "analyzer/growth/growth.h"
#include "analyzer/growth/native_growth.h"
#include "analyzer/growth/object_growth.h"
#include "analyzer/growth/outside_growth.h"
#include "analyzer/load/trace_data.h"
#include "analyzer/releases/releases.h"
#include "analyzer/rules/duplicate.h"
#include "analyzer/rules/finding_identity.h"
#include "analyzer/rules/fragmentation.h"
#include "analyzer/rules/in_flight.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

enum class Confidence {
  kCertain,  ///< follows from recorded facts alone; for holders: every count is explained
  kPartial,  ///< some counts are unexplained, a holder is not proven, or something changed during the census
  kUnknown,  ///< not inspected: the trace does not contain the cause
};

/// What a predicted peak says of the peak of a mended program.
enum class PredictedAs {
  kValue,  ///< it is that high
  kLeast,  ///< it is not lower: a statement uses some of what grows, and how much has to stay is not known
  kMost,   ///< it is not higher: memory still grows without what the findings keep, or more may go with it
  kAbout,  ///< it may be lower and higher, by both
};
/// "value", "least", "most", "about".
[[nodiscard]] std::string_view name_of(PredictedAs predicted);

/// One storage of a finding, in one cycle of its parameter.
struct FindingItem {
  Key key;
  StorageId storage;
  Bytes bytes;            ///< kept bytes; for use after release: the bytes at the read
  Sequence since, until;  ///< `until` zero: to the end of the trace
  TimeNs since_ns, until_ns;
  const Step* step = nullptr;
  const Mark* gather = nullptr;
  const Mark* release = nullptr;    ///< nullptr: none
  const ReleaseRow* row = nullptr;  ///< the row of that release
  Maybe<Gone> gone;
  std::vector<const Mark*> reads;  ///< after the release
  /// Only for this item; for a residual release: of its holders.
  Confidence confidence = Confidence::kUnknown;
};

struct Evidence {
  std::vector<MarkId> marks;
  std::vector<EdgeId> edges;
  std::vector<SampleId> samples;

  static constexpr std::string_view kShape = "evidence";
  static void describe(auto&& field) {
    field("marks", &Evidence::marks, "");
    field("edges", &Evidence::edges, "");
    field("samples", &Evidence::samples, "");
  }
};

/// What is said of a finding, without the rows that it was found in.
struct FindingBase {
  std::int64_t number = 0;           ///< in the report, from 1
  FindingIdentity identity;          ///< equal in other runs
  std::string rule;                  ///< the rule that made the finding
  std::vector<std::string> classes;  ///< defect classes, "D19"
  std::string title;
  std::vector<std::string> origins;            ///< distinct origins of the items' gathers (origins.h)
  bool trial = false;                          ///< only trials of the program gather and read here
  std::optional<WaitsAtPeak> waits;            ///< for the rule awaits_stream
  std::optional<ReusedInFlight> in_flight;     ///< for the rule reused_in_flight
  std::optional<Fragmentation> fragmentation;  ///< for the rule fragmented
  std::optional<OutsideGrowth> outside;        ///< for the rule grows_outside
  std::optional<ObjectGrowth> objects;         ///< for the rule grows_objects
  std::optional<ForkedGrowth> forked;          ///< for the rule grows_forked
  std::optional<NativeGrowth> native;          ///< for the rule grows_native
  std::optional<Duplicate> duplicate;          ///< for the rule duplicate
  Bytes bytes;                                 ///< sum over distinct parameters, each with its maximum
  double byte_seconds = 0;                     ///< bytes times time, from `since` to `until` (or the end of the trace)
  Bytes dead_at_peak;                   ///< part of the measured peak; 0 if the storages could not have been freed
  double peak_share = 0;                ///< dead_at_peak / peak
  Bytes alive_at_peak;                  ///< of the items' storages, needed or not; at most `bytes`
  std::optional<Bytes> predicted_peak;  ///< the peak without this finding alone
  PredictedAs predicted_as = PredictedAs::kValue;
  /// The same if what grows stays until a statement has used it. nullopt: not known, or the same.
  std::optional<Bytes> predicted_if_used;
  std::optional<Holders> holders;               ///< an example: of the first item that has any
  std::int64_t more_alike = 0;                  ///< further items whose census shows the same holder
  std::int64_t censuses = 0;                    ///< items with a census
  std::int64_t explained = 0, unexplained = 0;  ///< sum over all censuses
  std::int64_t reads = 0, kernel_reads = 0;     ///< reads after the release, over all items: by operators, by kernels
  OperatorCount coverage;  ///< operators after the release, for the item that was held over most of them
  /// The same for launches; `whole` only if it holds for all items on a GPU.
  std::optional<LaunchCoverage> launches;
  Evidence evidence;
  Confidence confidence = Confidence::kUnknown;
  std::string why, fix;
};

/// Similar storages make one finding: those with the same class, operator and holding function.
struct Finding : FindingBase {
  StringId device;                        ///< of the storages; zero: unknown
  std::vector<FindingItem> items;         ///< in order of time; empty: the finding has no parameters
  std::vector<OomVerdict> out_of_memory;  ///< similar errors, for the rule out_of_memory; else empty
  std::optional<Growth> growth;           ///< for the rules grows, kept_by_traceback and graphs_without_backward

  /// True if the finding is not about the training and nothing of it is alive at the peak. It is reported last then.
  [[nodiscard]] bool aside() const { return trial && alive_at_peak.value == 0; }
  /// Number of distinct parameters.
  [[nodiscard]] std::int64_t keys() const;
  /// Number of distinct steps; 0 if the trace has none.
  [[nodiscard]] std::int64_t steps() const;
  /// The bytes of each item, if all have the same.
  [[nodiscard]] std::optional<Bytes> bytes_each() const;
};

[[nodiscard]] std::string_view name_of(Confidence confidence);

/// The item of a release, until its bytes were freed. The rule fills in the number of bytes.
[[nodiscard]] FindingItem item_of_release(const ReleaseRow& row);

/// The storages of all growth in these findings.
[[nodiscard]] std::set<StorageId> growing_storages(const std::vector<Finding>& findings);

/// Fills what follows from the items of a finding: bytes, byte·seconds, evidence (marks), reads.
void complete_from_items(const TraceData& data, Finding& finding);

}  // namespace dcmt::analyzer
