// The small values of the report model: points in time, frames, actors, marks.
//
// The model is what a front end can show of a trace: typed values that only the analyzer makes. Front ends choose which
// of them they show, and in which form. A type of the model has a name (kShape) and lists its fields once, with their
// keys and meanings: describe(field) calls field(key, member, meaning) for each field in order. A member is a data
// member or a const function without parameters, which computes its value on each call. The JSON documents and the
// check of docs/json.md are made from these lists. Members that describe() omits are only for text output.
//
// Everything in the model points into the TraceData and the Analysis that it was made of. Both must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/optional_text.h"
#include "analyzer/load/run_point.h"
#include "analyzer/load/trace_data.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/storages/storage_bytes.h"
#include "analyzer/time/timeline.h"

namespace dcmt::model {

using analyzer::given;
using analyzer::RunPoint;
using analyzer::text_of;
using analyzer::TraceData;

/// The originator of an event.
struct Actor {
  std::optional<ThreadId> thread;
  std::optional<std::string_view> innermost_operator, outer_operator;
  std::string site;
  std::vector<analyzer::FrameText> stack;

  static constexpr std::string_view kShape = "actor";
  static void describe(auto&& field) {
    field("thread", &Actor::thread, "");
    field("operator", &Actor::innermost_operator, "the innermost");
    field("outer_operator", &Actor::outer_operator, "the outermost plain operator around it");
    field("site", &Actor::site, "the innermost frame of user or generated code, \"file:line function\"");
    field("stack", &Actor::stack, "innermost first; empty if unknown");
  }
};

struct Mark {
  MarkId mark;
  std::optional<std::string_view> name;
  RunPoint at;
  Actor by;
  std::int64_t cycle = 0;
  std::optional<std::int64_t> declared, remaining;  ///< numbers of uses
  std::optional<Bytes> bytes;                       ///< bytes of its storage at that time

  static constexpr std::string_view kShape = "mark";
  static void describe(auto&& field) {
    field("mark", &Mark::mark, "");
    field("name", &Mark::name, "of the operator or mark");
    field("at", &Mark::at, "");
    field("by", &Mark::by, "");
  }
};

/// A use of a storage by an operator or a kernel.
struct Read : Mark {
  bool by_kernel = false;
  std::optional<std::int64_t> ordinal;
  std::optional<std::string_view> backward;  ///< the backward node in which the operator ran

  static constexpr std::string_view kShape = "read";
  static void describe(auto&& field) {
    field("mark", &Read::mark, "");
    field("name", &Read::name, "of the operator that read, or of the kernel");
    field("at", &Read::at, "");
    field("by", &Read::by, "");
    field("by_kernel", &Read::by_kernel, "a kernel (or a copy) got an address in the storage");
    field("bytes", &Read::bytes, "of the storage then; 0: the data was gone");
    field("ordinal", &Read::ordinal, "the thread's operator number");
  }
};

/// When a storage's bytes were freed, and by whom.
struct Gone {
  analyzer::GoneBy how = analyzer::GoneBy::kStorageEnd;
  RunPoint at;
  Actor by;
  std::optional<std::string_view> at_return_of;  ///< the function that held the storage, if its return freed it

  static constexpr std::string_view kShape = "gone";
  static void describe(auto&& field) {
    field("how", &Gone::how, "\"resize\", \"storage_end\", \"block_free\"");
    field("at", &Gone::at, "");
    field("by", &Gone::by, "");
  }
};

[[nodiscard]] std::optional<std::int64_t> number_of(const analyzer::Step* step);
[[nodiscard]] RunPoint begin_of(const analyzer::Span& span);
/// nullopt if `seq` is zero.
[[nodiscard]] std::optional<RunPoint> point_of(Sequence seq, TimeNs ns);
[[nodiscard]] std::optional<RunPoint> end_of(const analyzer::Span& span);
[[nodiscard]] Actor actor_of(const TraceData& data, const analyzer::Actor& actor);
[[nodiscard]] Mark mark_of(const TraceData& data, const analyzer::Mark& mark);
[[nodiscard]] std::optional<Mark> mark_of(const TraceData& data, const analyzer::Mark* mark);
[[nodiscard]] Read read_of(const TraceData& data, const analyzer::Mark& read);
[[nodiscard]] std::vector<Read> reads_of(const TraceData& data, std::span<const analyzer::Mark* const> reads);

}  // namespace dcmt::model
