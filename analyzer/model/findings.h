// Findings with all their details.
#pragma once

#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/model/device_findings.h"
#include "analyzer/model/holders.h"
#include "analyzer/model/proof.h"
#include "analyzer/model/range.h"

namespace dcmt::model {

/// One storage of a finding, in one cycle of its parameter. Expensive members are computed when they are called.
class ReportedItem {
 public:
  ReportedItem(const TraceData& data, const analyzer::FindingItem& item) : data_(&data), item_(&item) {}

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
    field("key", &ReportedItem::key, "");
    field("storage", &ReportedItem::storage, "");
    field("bytes", &ReportedItem::bytes, "kept, or there at the read");
    field("step", &ReportedItem::step, "");
    field("since", &ReportedItem::since, "");
    field("until", &ReportedItem::until, "null: to the end of the trace");
    field("gather", &ReportedItem::gather, "");
    field("release", &ReportedItem::release, "");
    field("gone", &ReportedItem::gone, "");
    field("operators_held", &ReportedItem::operators_held, "");
    field("confidence", &ReportedItem::confidence,
          "of this item alone: for a residual release of who holds it, \"unknown\" if no census inspected it");
    field("reads", &ReportedItem::reads, "after the release");
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

/// A finding with its rows resolved, and what only text shows of it.
struct ReportedFinding : analyzer::FindingBase {
  std::optional<std::string_view> device;
  std::int64_t keys = 0;
  std::optional<Bytes> bytes_each;
  Range<ReportedItem> items;
  std::vector<OutOfMemory> out_of_memory;
  std::optional<analyzer::GrowthBase> growth;
  std::optional<ReleaseProof> proof;

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
    field("number", &ReportedFinding::number, "in this report");
    field("identity", &ReportedFinding::identity,
          "the same in the next run, on another rank, with other censuses, after an unrelated edit");
    field("rule", &ReportedFinding::rule,
          "\"out_of_memory\", \"residual\", \"never_released\", \"use_after_release\", \"awaits_stream\", "
          "\"reused_in_flight\", "
          "\"fragmented\", \"grows\", \"kept_by_traceback\", \"graphs_without_backward\", "
          "\"grows_outside\", \"grows_objects\", \"grows_forked\", \"grows_native\", \"duplicate\"");
    field("classes", &ReportedFinding::classes, "defect classes");
    field("title", &ReportedFinding::title, "");
    field("device", &ReportedFinding::device,
          "of its storages; the bytes at the peak below are of the peak of this device");
    field("origins", &ReportedFinding::origins,
          "where the gathers came from (\"compiled\", \"hook\"), else what gathered");
    field("trial", &ReportedFinding::trial,
          "nothing but trials of the program gathers and reads here, as DeepCompile's profiling does: it is not about "
          "the training");
    field("keys", &ReportedFinding::keys, "distinct parameters");
    field("bytes", &ReportedFinding::bytes,
          "of them, each at its largest; of \"awaits_stream\" those that waited; of "
          "\"reused_in_flight\" the largest block; of \"fragmented\" what the best remedy "
          "gives back, or if there is none, what was idle; of \"grows_outside\" what was added, or all arrays that are "
          "held; of \"grows_objects\" all that it holds, as an estimate; of \"grows_forked\" what the children do not "
          "share of it, likewise; of \"grows_native\" all that is alive of it, likewise");
    field("bytes_each", &ReportedFinding::bytes_each, "if all items have the same");
    field("byte_seconds", &ReportedFinding::byte_seconds, "bytes × time over all items");
    field("dead_at_peak_bytes", &ReportedFinding::dead_at_peak, "");
    field("peak_share", &ReportedFinding::peak_share, "of the peak, 0 to 1");
    field("alive_at_peak_bytes", &ReportedFinding::alive_at_peak, "of the storages named, needed then or not");
    field("predicted_peak_bytes", &ReportedFinding::predicted_peak, "the peak without this finding alone");
    field("predicted_as", &ReportedFinding::predicted_as,
          "what `predicted_peak_bytes` is of the mended program's peak: \"value\"; \"least\": one of `used_at` needs "
          "some of what grows, or the program takes entries out now and then, or has a window of the latest; \"most\": "
          "memory still grows without what the findings keep, the work takes more and more, or there is something at "
          "that peak that may go with it, or sooner; \"about\": neither, as where it depends on small storages");
    field("predicted_if_used_bytes", &ReportedFinding::predicted_if_used,
          "the same if all that grows stays until one of `used_at` runs next; null: not known when they ran, or the "
          "same");
    field("confidence", &ReportedFinding::confidence,
          "\"certain\" if it is so of every item, \"partial\", \"unknown\"");
    field("why", &ReportedFinding::why, "");
    field("fix", &ReportedFinding::fix, "");
    field("holders", &ReportedFinding::holders, "an example");
    field("more_alike", &ReportedFinding::more_alike, "items with the same holder besides it");
    field("censuses", &ReportedFinding::censuses, "items whose references were inspected");
    field("explained", &ReportedFinding::explained, "references, over all censuses");
    field("unexplained", &ReportedFinding::unexplained, "");
    field("reads_after_release", &ReportedFinding::reads, "by operators");
    field("kernel_reads_after_release", &ReportedFinding::kernel_reads,
          "launches that got an address in a released storage; those of an operator that reads too");
    field("reads_coverage", &ReportedFinding::coverage,
          "operators after the release of the item that was held through most");
    field("launches", &ReportedFinding::launches, "the same of launches");
    field("evidence", &ReportedFinding::evidence, "");
    field("items", &ReportedFinding::items,
          "one per storage and cycle; of \"out_of_memory\": those that were held at the first error");
    field("out_of_memory", &ReportedFinding::out_of_memory, "alike errors, for the rule of that name; else empty");
    field("waits", &ReportedFinding::waits, "for the rule \"awaits_stream\"");
    field("in_flight", &ReportedFinding::in_flight, "for the rule \"reused_in_flight\"");
    field("fragmentation", &ReportedFinding::fragmentation, "for the rule \"fragmented\"");
    field("growth", &ReportedFinding::growth,
          "for the rules \"grows\", \"kept_by_traceback\" and \"graphs_without_backward\"");
    field("outside", &ReportedFinding::outside, "for the rule \"grows_outside\"");
    field("objects", &ReportedFinding::objects, "for the rule \"grows_objects\"");
    field("forked", &ReportedFinding::forked, "for the rule \"grows_forked\"");
    field("native", &ReportedFinding::native, "for the rule \"grows_native\"");
    field("duplicate", &ReportedFinding::duplicate, "for the rule \"duplicate\"");
    field("proof", &ReportedFinding::proof, "of a run under `prove`: of the releases of this finding; else null");
  }
};

[[nodiscard]] std::vector<ReportedFinding> findings_of(const analyzer::Analysis& analysis);

}  // namespace dcmt::model
