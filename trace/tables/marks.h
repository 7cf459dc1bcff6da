// Marks, what was counted between them, and what a census found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/tables/column.h"
#include "trace/tables/point.h"

namespace dcmt {

struct MarkRow {
  RowId id = 0;
  std::string_view kind;  ///< static text
  RowId name = 0;
  std::optional<std::int64_t> thread;
  std::optional<std::int64_t> graph, key, cycle;
  RowId storage = 0;
  RowId tensor = 0;
  RowId dtype = 0;
  std::optional<std::int64_t> bytes, bytes_after, bytes_settled;
  Point settled;
  std::optional<std::int64_t> declared, remaining;
  std::optional<std::string> flags;
  std::optional<std::int64_t> ordinal;
  std::string_view trigger;  ///< static text; empty is written as NULL
  RowId parent = 0;
  std::optional<std::int64_t> value;
  RowId operator_id = 0;
  RowId stack = 0;
  Span span;

  static constexpr std::string_view kKinds[] = {"step",    "phase",   "user",    "gather", "wait",
                                                "persist", "release", "read",    "write",  "touch",
                                                "census",  "resize",  "repoint", "fence",  "fence_touch"};
  static constexpr std::string_view kTriggers[] = {"release", "out_of_memory", "call"};

  static constexpr Table kTable{.name = "mark", .meaning = "A named moment or span."};
  static constexpr void describe(auto&& column) {
    column(&MarkRow::id, Cell{"id", "id", ""});
    column(&MarkRow::kind, Cell{"kind", "text", "", 1, kKinds});
    column(&MarkRow::name,
           OrNull{"name", "string", "of a step, a phase or a user's mark; else the operator or kernel"});
    column(&MarkRow::thread, Cell{"thread", "thread", ""});
    column(&MarkRow::graph, Cell{"graph", "number", "of a parameter's cycle"});
    column(&MarkRow::key, Cell{"key", "number", "the parameter within it"});
    column(&MarkRow::cycle, Cell{"cycle", "number", "which gather of the key, from 1"});
    column(&MarkRow::storage, OrNull{"storage", "storage", ""});
    column(&MarkRow::tensor, OrNull{"tensor", "tensor", ""});
    column(&MarkRow::bytes, Cell{"bytes", "bytes", "of the storage: before a release, after a gather, else then"});
    column(&MarkRow::bytes_after, Cell{"bytes_after", "bytes", "release: right after the operator"});
    column(&MarkRow::bytes_settled,
           Cell{"bytes_settled", "bytes", "release: at the thread's next activity; NULL if there was none"});
    column(&MarkRow::settled, At{"settled_", "release: of that activity", true});
    column(&MarkRow::declared, Cell{"declared", "number", "release: the count of uses"});
    column(&MarkRow::remaining, Cell{"remaining", "number", "release: the uses that are left"});
    column(&MarkRow::flags, Cell{"flags", "text", "words, separated by commas"});
    column(&MarkRow::ordinal, Cell{"ordinal", "number", "how many operators the thread had begun by then"});
    column(&MarkRow::trigger, OrNull{{"trigger", "text", "census: why", 1, kTriggers}});
    column(&MarkRow::parent,
           OrNull{"parent", "mark", "census: its release; read, write, fence, fence_touch: the release before it"});
    column(&MarkRow::value,
           Cell{"value", "number",
                "step: its number; touch: launches since the gather; fence: bytes of the storage that are not "
                "fenced; fence_touch: where in the storage; result: a digest"});
    column(&MarkRow::operator_id, OrNull{"operator", "operator", ""});
    column(&MarkRow::stack, OrNull{"stack", "stack", ""});
    column(&MarkRow::span, FromTo{});
    column(&MarkRow::dtype, OrNull{"dtype", "string", "gather, wait: the type of the tensor's elements", 5});
  }
};

/// Counts of calls that gave the GPU work while a released storage was alive, so far.
struct LaunchesRow {
  RowId id = 0;  ///< sequence
  std::int64_t ns = 0;
  bool observed = false;
  std::int64_t calls = 0, graphs = 0, nccl = 0, unknown = 0, copies = 0;

  static constexpr Table kTable{
      .name = "launches",
      .meaning = "Calls, so far in the run, that gave the GPU work while a released storage lived."};
  static constexpr void describe(auto&& column) {
    column(&LaunchesRow::id, Cell{"id", "seq", ""});
    column(&LaunchesRow::ns, Cell{"ns", "ns", ""});
    column(&LaunchesRow::observed, Cell{"looking", "flag", "1: such calls are observed from here on"});
    column(&LaunchesRow::calls, Cell{"calls", "number", "kernels, copies, fills, graphs"});
    column(&LaunchesRow::graphs, Cell{"graphs", "number", "of them: graphs, whose memory is not visible"});
    column(&LaunchesRow::nccl, Cell{"nccl", "number", "of them: kernels of NCCL, whose memory is not visible"});
    column(&LaunchesRow::unknown, Cell{"unknown", "number", "of them: kernels whose parameters cannot be read"});
    column(&LaunchesRow::copies, Cell{"copies", "number", "of them: copies in several dimensions, or of many at once"});
  }
};

inline constexpr std::string_view kHeldSubjects[] = {"storage", "tensor", "object"};

/// A count that a census read.
struct SampleRow {
  RowId id = 0;
  RowId census = 0;
  std::string_view subject;  ///< static text
  RowId storage = 0;
  RowId tensor = 0;
  std::int64_t count = 0;
  std::int64_t explained = 0;
  std::int64_t unexplained = 0;

  static constexpr Table kTable{.name = "sample", .meaning = "A count that a census read."};
  static constexpr void describe(auto&& column) {
    column(&SampleRow::id, Cell{"id", "id", ""});
    column(&SampleRow::census, Cell{"census", "mark", ""});
    column(&SampleRow::subject, Cell{"subject", "text", "", 1, kHeldSubjects});
    column(&SampleRow::storage, OrNull{"storage", "storage", ""});
    column(&SampleRow::tensor, OrNull{"tensor", "tensor", ""});
    column(&SampleRow::count, Cell{"count", "number", "as read"});
    column(&SampleRow::explained, Cell{"explained", "number", "by holders that were found"});
    column(&SampleRow::unexplained, Cell{"unexplained", "number", ""});
  }
};

/// Holder and held, as a census found them.
struct EdgeRow {
  RowId id = 0;
  RowId census = 0;
  RowId storage = 0;
  std::string_view held;  ///< static text
  RowId tensor = 0;
  std::string_view holder;  ///< static text
  std::optional<std::int64_t> object;
  std::optional<std::int64_t> thread;
  RowId name = 0;
  RowId function = 0;
  RowId file = 0;
  std::optional<std::int64_t> line;
  RowId assignment = 0;
  std::optional<std::int64_t> current_line, delete_line, return_line;
  RowId model_file = 0;
  std::optional<std::int64_t> model_line;
  RowId model_text = 0;
  std::string_view confidence;  ///< static text
  Span span;

  static constexpr std::string_view kHolders[] = {"tensor", "python_object", "view",      "local",
                                                  "cell",   "free",          "eval_stack"};
  static constexpr std::string_view kConfidences[] = {"certain", "unproven"};

  static constexpr Table kTable{.name = "edge", .meaning = "Holder and held, as a census found them."};
  static constexpr void describe(auto&& column) {
    column(&EdgeRow::id, Cell{"id", "id", ""});
    column(&EdgeRow::census, Cell{"census", "mark", ""});
    column(&EdgeRow::storage, Cell{"storage", "storage", "that the edge keeps alive in the end"});
    column(&EdgeRow::held, Cell{"held", "text", "", 1, kHeldSubjects});
    column(&EdgeRow::tensor,
           OrNull{"tensor", "tensor", "the held one, or its object; the holder if `holder` is `tensor`"});
    column(&EdgeRow::holder, Cell{"holder", "text", "", 1, kHolders});
    column(&EdgeRow::object, Cell{"object", "address", "of the Python object, or of the view"});
    column(&EdgeRow::thread, Cell{"thread", "thread", "of the frame"});
    column(&EdgeRow::name, OrNull{"name", "string", "the variable"});
    column(&EdgeRow::function, OrNull{"function", "string", "of the frame"});
    column(&EdgeRow::file, OrNull{"file", "string", "of the frame"});
    column(&EdgeRow::line, Cell{"line", "number", "of the assignment that reaches the census; NULL: an argument"});
    column(&EdgeRow::assignment, OrNull{"assignment", "string", "text of that line"});
    column(&EdgeRow::current_line, Cell{"current_line", "number", "where the frame stood"});
    column(&EdgeRow::delete_line,
           Cell{"delete_line", "number", "the first `del` that can follow; NULL: none before the return"});
    column(&EdgeRow::return_line, Cell{"return_line", "number", ""});
    column(&EdgeRow::model_file, OrNull{"model_file", "string", "the model's source of a generated line"});
    column(&EdgeRow::model_line, Cell{"model_line", "number", ""});
    column(&EdgeRow::model_text, OrNull{"model_text", "string", ""});
    column(&EdgeRow::confidence, Cell{"confidence", "text", "", 1, kConfidences});
    column(&EdgeRow::span, FromTo{});
  }
};

}  // namespace dcmt
