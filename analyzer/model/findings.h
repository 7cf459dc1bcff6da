// Findings with all their details.
#pragma once

#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/model/device_findings.h"
#include "analyzer/model/growth.h"
#include "analyzer/model/holders.h"
#include "analyzer/model/range.h"

namespace dcmt::model {

/// One storage of a finding, in one cycle of its parameter. Expensive members are computed when they are called.
class FindingItem {
 public:
  FindingItem(const TraceData& data, const analyzer::FindingItem& item) : data_(&data), item_(&item) {}

  [[nodiscard]] analyzer::Key key() const { return item_->key; }
  [[nodiscard]] std::optional<StorageId> storage() const { return given(item_->storage); }
  [[nodiscard]] Bytes bytes() const { return item_->bytes; }
  [[nodiscard]] std::optional<std::int64_t> step() const { return number_of(item_->step); }
  [[nodiscard]] RunPoint since() const { return {item_->since, item_->since_ns}; }
  [[nodiscard]] std::optional<RunPoint> until() const { return point_of(item_->until, item_->until_ns); }
  [[nodiscard]] std::optional<Mark> gather() const { return mark_of(*data_, item_->gather); }
  [[nodiscard]] std::optional<Mark> release() const { return mark_of(*data_, item_->release); }
  [[nodiscard]] std::optional<Gone> gone() const { return gone_of(*data_, item_->gone); }
  [[nodiscard]] std::optional<analyzer::OperatorCount> operators_held() const;
  [[nodiscard]] analyzer::Confidence confidence() const { return item_->confidence; }
  [[nodiscard]] std::vector<Read> reads() const { return reads_of(*data_, item_->reads); }

  static constexpr std::string_view kShape = "item";
  static void describe(auto&& field) {
    field("key", &FindingItem::key, "");
    field("storage", &FindingItem::storage, "");
    field("bytes", &FindingItem::bytes, "kept, or there at the read");
    field("step", &FindingItem::step, "");
    field("since", &FindingItem::since, "");
    field("until", &FindingItem::until, "null: to the end of the trace");
    field("gather", &FindingItem::gather, "");
    field("release", &FindingItem::release, "");
    field("gone", &FindingItem::gone, "");
    field("operators_held", &FindingItem::operators_held, "");
    field("confidence", &FindingItem::confidence,
          "of this item alone: for a residual release of who holds it, \"unknown\" if no census inspected it");
    field("reads", &FindingItem::reads, "after the release");
  }

  /// From `since` to the end of the bytes, or to the read of a storage that was released before.
  [[nodiscard]] TimeNs lasted() const { return TimeNs(item_->until_ns.value - item_->since_ns.value); }

 private:
  const TraceData* data_;
  const analyzer::FindingItem* item_;
};

/// The parameters of a finding that belong to one graph.
struct ParametersOfGraph {
  std::int64_t graph = 0;
  std::string graph_name;          ///< "FSDP2", "graph 0"
  std::vector<std::int64_t> keys;  ///< distinct, ascending
  std::vector<std::string> names;  ///< names of all of them; empty: some have none

  friend bool operator==(const ParametersOfGraph&, const ParametersOfGraph&) = default;
};

/// How long the freed storages of a finding had lived past their release.
struct HeldFor {
  Gone gone;          ///< the event that freed the first of them
  bool exact = true;  ///< false: the number of operators is a lower bound
  std::int64_t least_operators = 0, most_operators = 0;
  TimeNs shortest, longest;
};

/// A verdict with its evidence.
struct Finding {
  std::int64_t number = 0;
  analyzer::FindingIdentity identity;
  std::string rule;
  std::vector<std::string> classes;
  std::string title;
  std::optional<std::string_view> device;
  std::vector<std::string> origins;
  bool trial = false;
  std::int64_t keys = 0;
  Bytes bytes;
  std::optional<Bytes> bytes_each;
  double byte_seconds = 0;
  Bytes dead_at_peak;
  double peak_share = 0;
  Bytes alive_at_peak;
  std::optional<Bytes> predicted_peak;
  analyzer::Confidence confidence = analyzer::Confidence::kUnknown;
  std::string why, fix;
  std::optional<analyzer::Holders> holders;
  std::int64_t more_alike = 0, censuses = 0, explained = 0, unexplained = 0, reads = 0, kernel_reads = 0;
  analyzer::OperatorCount coverage;
  std::optional<analyzer::LaunchCoverage> launches;
  analyzer::Evidence evidence;
  Range<FindingItem> items;
  std::vector<OutOfMemory> out_of_memory;
  std::optional<analyzer::WaitsAtPeak> waits;
  std::optional<analyzer::StreamPools> pools;
  std::optional<Growth> growth;
  std::optional<analyzer::OutsideGrowth> outside;

  std::vector<ParametersOfGraph> parameters;
  std::vector<std::int64_t> steps;           ///< distinct, ascending
  std::vector<std::string> origins_besides;  ///< origins that say more than the name of the gathering operator
  std::optional<double> alive_share;         ///< of the device's peak; nullopt: it is 0
  bool only_tensor_cleared = false;          ///< for residual: every release left the storage's bytes
  bool certain_where_inspected = false;      ///< for residual: every census explains all references
  std::optional<HeldFor> held_for;           ///< for residual; nullopt: none was freed
  std::int64_t not_freed = 0;                ///< items whose bytes exist to the end of the trace
  std::optional<OutOfMemoryStory> memory_ran_out;

  static constexpr std::string_view kShape = "finding";
  static void describe(auto&& field) {
    field("number", &Finding::number, "in this report");
    field("identity", &Finding::identity,
          "the same in the next run, on another rank, with other censuses, after an unrelated edit");
    field("rule", &Finding::rule,
          "\"out_of_memory\", \"residual\", \"never_released\", \"use_after_release\", \"awaits_stream\", "
          "\"reserved_beyond_active\", \"grows\", \"kept_by_traceback\", \"grows_outside\"");
    field("classes", &Finding::classes, "defect classes");
    field("title", &Finding::title, "");
    field("device", &Finding::device, "of its storages; the bytes at the peak below are of the peak of this device");
    field("origins", &Finding::origins, "where the gathers came from (\"compiled\", \"hook\"), else what gathered");
    field("trial", &Finding::trial,
          "nothing but trials of the program gathers and reads here, as DeepCompile's profiling does: it is not about "
          "the training");
    field("keys", &Finding::keys, "distinct parameters");
    field(
        "bytes", &Finding::bytes,
        "of them, each at its largest; of \"awaits_stream\" and \"reserved_beyond_active\" those that waited, or were "
        "idle; of \"grows_outside\" what was added, or all arrays that are held");
    field("bytes_each", &Finding::bytes_each, "if all items have the same");
    field("byte_seconds", &Finding::byte_seconds, "bytes × time over all items");
    field("dead_at_peak_bytes", &Finding::dead_at_peak, "");
    field("peak_share", &Finding::peak_share, "of the peak, 0 to 1");
    field("alive_at_peak_bytes", &Finding::alive_at_peak, "of the storages named, needed then or not");
    field("predicted_peak_bytes", &Finding::predicted_peak, "the peak without this finding alone");
    field("confidence", &Finding::confidence, "\"certain\" if it is so of every item, \"partial\", \"unknown\"");
    field("why", &Finding::why, "");
    field("fix", &Finding::fix, "");
    field("holders", &Finding::holders, "an example");
    field("more_alike", &Finding::more_alike, "items with the same holder besides it");
    field("censuses", &Finding::censuses, "items whose references were inspected");
    field("explained", &Finding::explained, "references, over all censuses");
    field("unexplained", &Finding::unexplained, "");
    field("reads_after_release", &Finding::reads, "by operators");
    field("kernel_reads_after_release", &Finding::kernel_reads,
          "launches that got an address in a released storage; those of an operator that reads too");
    field("reads_coverage", &Finding::coverage, "operators after the release of the item that was held through most");
    field("launches", &Finding::launches, "the same of launches");
    field("evidence", &Finding::evidence, "");
    field("items", &Finding::items,
          "one per storage and cycle; of \"out_of_memory\": those that were held at the first error");
    field("out_of_memory", &Finding::out_of_memory, "alike errors, for the rule of that name; else empty");
    field("waits", &Finding::waits, "for the rule \"awaits_stream\"");
    field("pools", &Finding::pools, "for the rule \"reserved_beyond_active\"");
    field("growth", &Finding::growth, "for the rules \"grows\" and \"kept_by_traceback\"");
    field("outside", &Finding::outside, "for the rule \"grows_outside\"");
  }
};

[[nodiscard]] std::vector<Finding> findings_of(const analyzer::Analysis& analysis);

}  // namespace dcmt::model
