// The result of a census, with its texts.
#pragma once

#include <vector>

#include "analyzer/model/values.h"
#include "analyzer/releases/holders.h"

namespace dcmt::model {

struct HolderName {
  EdgeId edge;
  analyzer::HolderKind kind = analyzer::HolderKind::kLocal;
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

struct HolderPath {
  std::optional<std::string_view> function, file;
  bool generated = false;
  std::int64_t object = 0;
  std::optional<TensorId> tensor;
  std::vector<HolderName> names;
  std::optional<std::int64_t> current_line, return_line, model_line;
  std::optional<std::string_view> model_file, model_text;
  bool certain = false;
  Point held_since_at_most;

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
};

struct Count {
  analyzer::SampleId sample;
  analyzer::Subject subject = analyzer::Subject::kStorage;
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
  analyzer::Subject subject = analyzer::Subject::kStorage;
  std::int64_t number = 0;  ///< number of counts
  std::int64_t count = 0, explained = 0, unexplained = 0;
};

struct Holders {
  MarkId census;
  Point at;
  std::optional<std::string_view> trigger;
  bool unstable = false, other_threads_unseen = false, sharing_lossy = false, certain = false;
  std::vector<HolderPath> paths;
  std::vector<Count> counts;
  std::vector<CountSum> sums;  ///< one for each kind of subject that was counted
  std::int64_t tensors = 0;    ///< number of tensors that share the storage
  bool at_error = false;       ///< the census was made because memory ran out

  static constexpr std::string_view kShape = "holders";
  static void describe(auto&& field) {
    field("census", &Holders::census, "mark");
    field("at", &Holders::at, "");
    field("trigger", &Holders::trigger, "\"release\", \"out_of_memory\", \"call\"");
    field("unstable", &Holders::unstable, "counts changed while looking");
    field("other_threads_unseen", &Holders::other_threads_unseen, "");
    field("sharing_lossy", &Holders::sharing_lossy, "tensors on the storage may be missing");
    field("certain", &Holders::certain, "all counts explained, all holders owners, nothing moved");
    field("paths", &Holders::paths, "");
    field("counts", &Holders::counts, "");
  }
};

[[nodiscard]] Holders holders_of(const TraceData& data, const analyzer::Holders& holders);
/// nullopt if `holders` is nullptr.
[[nodiscard]] std::optional<Holders> holders_of(const TraceData& data, const analyzer::Holders* holders);

/// `holders`: of the storage, found at its release; nullptr: unknown.
[[nodiscard]] std::optional<Gone> gone_of(const TraceData& data, const analyzer::Maybe<analyzer::Gone>& gone,
                                          const analyzer::Holders* holders = nullptr);

}  // namespace dcmt::model
