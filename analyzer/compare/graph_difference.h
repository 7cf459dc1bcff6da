// What autograd's graph had saved for backward at a peak, and how this differs between two runs: `diff`.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/sample.h"
#include "analyzer/storages/saved_fields.h"

namespace dcmt::analyzer {

/// What one field of the nodes of one class has saved.
struct SavedFact {
  SavedFieldName name;  ///< empty: no reading of the memory names the field
  std::int64_t storages = 0;
  Bytes bytes;
};

/// What was alive on a device at one point of the run because a backward will read it. A storage that several fields
/// have saved is counted for the first field by name.
struct GraphFacts {
  std::int64_t readings = 0;  ///< readings of the memory in the run; 0: there is no data
  Bytes bytes;
  Bytes not_known;  ///< alive then, and nothing says what for
  std::vector<SavedFact> fields;
};

/// The graphs of one trace at any point of its run. The data must outlive this object.
class Graphs {
 public:
  explicit Graphs(const TraceData& data);
  [[nodiscard]] GraphFacts at(StringId device, Sequence seq) const;

 private:
  const TraceData& data_;
  HolderNames holders_;
  ByPlaceAndSize<std::set<SavedFieldName>> fields_;  ///< by kind of storage: the fields in which readings found them
};

enum class ChangeKind { kCame, kWent, kGrew, kShrank };
[[nodiscard]] std::string_view name_of(ChangeKind became);
/// The kind of change between two values that differ.
[[nodiscard]] ChangeKind became(Bytes before, Bytes after);

struct SavedDifference {
  ChangeKind became = ChangeKind::kCame;
  std::string node, field;
  std::int64_t before_storages = 0, after_storages = 0;
  Bytes before, after;
  bool certain = false;

  static constexpr std::string_view kShape = "saved_difference";
  static void describe(auto&& field) {
    field("became", &SavedDifference::became, "\"came\", \"went\", \"grew\", \"shrank\"");
    field("node", &SavedDifference::node, "the class of the autograd nodes, \"AddmmBackward0\"; empty: not known");
    field("field", &SavedDifference::field, "\"mat1\"; \"saved_tensors\" of a custom function; empty: not known");
    field("before_storages", &SavedDifference::before_storages, "");
    field("after_storages", &SavedDifference::after_storages, "");
    field("before_bytes", &SavedDifference::before, "");
    field("after_bytes", &SavedDifference::after, "");
    field("certain", &SavedDifference::certain,
          "false: so many bytes of the run that has less are not known that it may have them, too");
  }
};

struct GraphDifference {
  bool compared = false;
  std::string peak;  ///< "peak.backward"
  Bytes before, after, before_not_known, after_not_known;
  std::vector<SavedDifference> fields;  ///< the largest change first
  std::int64_t kept_fields = 0;
  Bytes kept;

  static constexpr std::string_view kShape = "graph_difference";
  static void describe(auto&& field) {
    field("compared", &GraphDifference::compared,
          "false: the memory of a run was not read, or the runs have no such peak in common");
    field("peak", &GraphDifference::peak, "at which the graphs are compared, \"peak.backward\"; empty: none");
    field("before_bytes", &GraphDifference::before, "alive then, and saved for backward by autograd's graph");
    field("after_bytes", &GraphDifference::after, "");
    field("before_not_known_bytes", &GraphDifference::before_not_known,
          "alive then, and no reading of the memory says what for");
    field("after_not_known_bytes", &GraphDifference::after_not_known, "");
    field("fields", &GraphDifference::fields, "that differ, the largest change first");
    field("kept_fields", &GraphDifference::kept_fields, "that do not");
    field("kept_bytes", &GraphDifference::kept, "of these");
  }
};

[[nodiscard]] GraphDifference graph_difference(const GraphFacts& before, const GraphFacts& after);

}  // namespace dcmt::analyzer
