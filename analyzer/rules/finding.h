// A finding: a verdict with its evidence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/devices/out_of_memory.h"
#include "analyzer/devices/streams.h"
#include "analyzer/load/trace_data.h"
#include "analyzer/releases/releases.h"
#include "analyzer/rules/growth.h"
#include "analyzer/rules/identity.h"
#include "analyzer/rules/outside_growth.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

enum class Confidence {
  kCertain,  ///< follows from recorded facts alone; for holders: every count explained
  kPartial,  ///< some counts unexplained, a holder unproven, or something moved while looking
  kUnknown,  ///< not inspected: the cause is not in the trace
};

/// One storage of a finding, in one cycle of its parameter.
struct FindingItem {
  Key key;
  StorageId storage;
  Bytes bytes;            ///< kept, or (use after release) there at the read
  Sequence since, until;  ///< until zero: to the end of the trace
  TimeNs since_ns, until_ns;
  const Step* step = nullptr;
  const Mark* gather = nullptr;
  const Mark* release = nullptr;    ///< nullptr: there was none
  const ReleaseRow* row = nullptr;  ///< of that release
  Maybe<Gone> gone;
  std::vector<const Mark*> reads;  ///< after the release
  /// Of the item alone: for a residual release of who holds it.
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

/// Alike storages are one finding: the same class, the same operator, the same holding function.
struct Finding {
  std::int64_t number = 0;           ///< from 1, in a report
  FindingIdentity identity;          ///< the same in other runs
  std::vector<std::string> classes;  ///< defect classes, "D19"
  std::string rule;                  ///< name of the rule that made it
  std::string title;
  StringId device;                              ///< of its storages; zero: not known
  std::vector<std::string> origins;             ///< of the items' gathers, distinct (origins.h)
  bool trial = false;                           ///< nothing but trials of the program gathers and reads here
  std::vector<FindingItem> items;               ///< in order of time; empty where the finding is of no parameter
  std::vector<OomVerdict> out_of_memory;        ///< alike errors, for the rule of that name; else empty
  std::optional<WaitsAtPeak> waits;             ///< for the rule awaits_stream
  std::optional<StreamPools> pools;             ///< for the rule reserved_beyond_active
  std::optional<Growth> growth;                 ///< for the rules grows and kept_by_traceback
  std::optional<OutsideGrowth> outside;         ///< for the rule grows_outside
  Bytes bytes;                                  ///< of the distinct parameters, each at its largest
  double byte_seconds = 0;                      ///< bytes times time, from since to until (or the end of the trace)
  Bytes dead_at_peak;                           ///< of the measured peak; 0 if its storages could not have been freed
  double peak_share = 0;                        ///< dead_at_peak / peak
  Bytes alive_at_peak;                          ///< of the items' storages, needed or not; `bytes` is their bound
  std::optional<Bytes> predicted_peak;          ///< the peak without this finding alone
  std::optional<Holders> holders;               ///< example: of the first item that has any
  std::int64_t more_alike = 0;                  ///< items whose census shows the same holder, besides the example
  std::int64_t censuses = 0;                    ///< items with a census
  std::int64_t explained = 0, unexplained = 0;  ///< over all censuses
  std::int64_t reads = 0, kernel_reads = 0;     ///< after the release, over all items: by operators, by kernels
  OperatorCount coverage;                       ///< operators after the release of the item that was held through most
  /// The same of launches; whole only if it is for all items on a GPU.
  std::optional<LaunchCoverage> launches;
  Evidence evidence;
  Confidence confidence = Confidence::kUnknown;
  std::string why, fix;

  /// Not about the training, and none of it is alive at the peak: told after all others.
  [[nodiscard]] bool aside() const { return trial && alive_at_peak.value == 0; }
  /// Distinct parameters.
  [[nodiscard]] std::int64_t keys() const;
  /// Distinct steps; 0 if the trace has none.
  [[nodiscard]] std::int64_t steps() const;
  /// The bytes of every item, if they are all the same.
  [[nodiscard]] std::optional<Bytes> bytes_each() const;
};

[[nodiscard]] std::string_view name_of(Confidence confidence);

/// The item of a release, to the moment when its bytes went; how many they are is its rule's to say.
[[nodiscard]] FindingItem item_of_release(const ReleaseRow& row);

/// Fills what follows from the items of a finding: bytes, byte·seconds, evidence of marks, reads.
void complete_from_items(const TraceData& data, Finding& finding);

}  // namespace dcmt::analyzer
