// Who holds a storage: the result of a census as paths and equations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/run_point.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// A variable of a frame that refers to the held object.
struct HolderName {
  EdgeId edge;
  HolderKind kind = HolderKind::kLocal;
  std::optional<std::string_view> name, assignment;
  std::optional<std::int64_t> line, delete_line;

  static constexpr std::string_view kShape = "holder_name";
  static void describe(auto&& field) {
    field("edge", &HolderName::edge, "");
    field("kind", &HolderName::kind, "\"local\", \"cell\", \"free\", \"eval_stack\"");
    field("name", &HolderName::name, "");
    field("line", &HolderName::line, "of the assignment that reaches the census");
    field("assignment", &HolderName::assignment, "");
    field("delete_line", &HolderName::delete_line, "null: not deleted before the return");
  }
};

/// A frame that holds a Python object of a tensor on the storage. The path is
/// frame → variable → Python object → tensor → storage.
struct HolderPath {
  StringId function_id, file_id;  ///< equal for paths of the same function
  std::optional<std::string_view> function, file;
  bool generated = false;
  std::int64_t object = 0;
  std::optional<TensorId> tensor;
  ThreadId thread = kNoThread;
  std::vector<HolderName> names;
  std::optional<std::int64_t> current_line, return_line, model_line;
  std::optional<std::string_view> model_file, model_text;
  bool certain = false;
  RunPoint held_since_at_most;

  static constexpr std::string_view kShape = "holder_path";
  static void describe(auto&& field) {
    field("function", &HolderPath::function, "of the frame");
    field("file", &HolderPath::file, "");
    field("generated", &HolderPath::generated, "a compiler wrote the file");
    field("object", &HolderPath::object, "address of the Python object");
    field("tensor", &HolderPath::tensor, "");
    field("names", &HolderPath::names, "variables of that frame that name the object");
    field("current_line", &HolderPath::current_line, "where the frame stood");
    field("return_line", &HolderPath::return_line, "");
    field("model_file", &HolderPath::model_file, "source of the generated line");
    field("model_line", &HolderPath::model_line, "");
    field("model_text", &HolderPath::model_text, "");
    field("certain", &HolderPath::certain, "an owner, not only seen on a stack");
    field("held_since_at_most", &HolderPath::held_since_at_most,
          "the name was there by then; when it was given is not known");
  }

  /// True if a variable of this frame is not deleted before the frame returns.
  [[nodiscard]] bool kept_to_return() const;
};

/// One equation of a census: counted references = explained + unexplained references.
struct Count {
  SampleId sample;
  Subject subject = Subject::kStorage;
  std::optional<TensorId> tensor;
  std::int64_t count = 0, explained = 0, unexplained = 0;

  static constexpr std::string_view kShape = "count";
  static void describe(auto&& field) {
    field("sample", &Count::sample, "");
    field("subject", &Count::subject, "\"storage\", \"tensor\", \"object\"");
    field("tensor", &Count::tensor, "");
    field("count", &Count::count, "references");
    field("explained", &Count::explained, "with a named holder");
    field("unexplained", &Count::unexplained, "");
  }
};

/// The sum of all counts of one kind of subject.
struct CountSum {
  Subject subject = Subject::kStorage;
  std::int64_t number = 0;  ///< number of counts
  std::int64_t count = 0, explained = 0, unexplained = 0;
};

/// The result of one census for one storage.
struct Holders {
  const Mark* census = nullptr;
  std::optional<std::string_view> trigger;
  std::vector<HolderPath> paths;  ///< the most informative first: generated code without a delete
  std::vector<Count> counts;
  std::vector<TensorId> tensors;  ///< tensors that share the storage
  std::vector<EdgeId> edges;      ///< all edges, as evidence

  static constexpr std::string_view kShape = "holders";
  static void describe(auto&& field) {
    field(
        "census", [](const Holders& of) { return of.census->id; }, "mark");
    field("at", &Holders::at, "");
    field("trigger", &Holders::trigger, "\"release\", \"out_of_memory\", \"call\"");
    field(
        "unstable", [](const Holders& of) -> bool { return of.census->flags.unstable; },
        "counts changed while looking");
    field(
        "other_threads_unseen", [](const Holders& of) -> bool { return of.census->flags.other_threads_unseen; }, "");
    field(
        "sharing_lossy", [](const Holders& of) -> bool { return of.census->flags.sharing_lossy; },
        "tensors on the storage may be missing");
    field("certain", &Holders::certain, "all counts explained, all holders owners, nothing moved");
    field("paths", &Holders::paths, "");
    field("counts", &Holders::counts, "");
  }

  [[nodiscard]] RunPoint at() const { return {census->span.from_seq, census->span.from_ns}; }
  /// One for each kind of subject that was counted.
  [[nodiscard]] std::vector<CountSum> sums() const;
  [[nodiscard]] std::int64_t unexplained() const;
  /// True if the census was made because memory ran out, and not because of a release.
  [[nodiscard]] bool at_error() const;
  /// True if all counts are explained, all holders own a reference, and nothing changed during the census.
  [[nodiscard]] bool certain() const;
};

/// The census of a release; nullopt if there is none.
[[nodiscard]] std::optional<Holders> holders_of_release(const TraceData& data, const Mark& release);

/// The first census of the storage after an out-of-memory error at `error`; nullopt if there is none.
[[nodiscard]] std::optional<Holders> holders_at_error(const TraceData& data, StorageId storage, Sequence error);

/// The result of a census for one storage.
[[nodiscard]] Holders holders_of(const TraceData& data, const Mark& census, StorageId storage);

[[nodiscard]] std::string_view name_of(HolderKind kind);
[[nodiscard]] std::string_view name_of(Subject subject);

}  // namespace dcmt::analyzer
