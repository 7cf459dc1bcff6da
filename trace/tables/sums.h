// Sums of stretches of the run and of the whole run, and what was lost or has to be said.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/sql/kept.h"
#include "trace/tables/column.h"
#include "trace/tables/point.h"

namespace dcmt {

/// Sums over one stretch of the run.
struct IntervalRow {
  RowId id = 0;
  std::optional<std::int64_t> step;
  std::int64_t steps = 0;
  Kept kept = Kept::kNo;
  std::int64_t records = 0;
  std::int64_t operators = 0, storages = 0, tensors = 0;
  std::int64_t releases = 0, residual = 0, residual_bytes = 0;
  Span span;

  static constexpr Table kTable{
      .name = "interval", .meaning = "Consecutive stretches of the run, as a rule its steps; every record is in one."};
  static constexpr void describe(auto&& column) {
    column(&IntervalRow::id, Cell{"id", "id", ""});
    column(&IntervalRow::step, Cell{"step", "number", "of the step that ends here; NULL: none does"});
    column(&IntervalRow::steps, Cell{"steps", "number", "that end in it; several where the disk bound is near"});
    column(&IntervalRow::kept, OrNull{"kept", "text", "why its rows are in the trace; NULL: only these sums are"});
    column(&IntervalRow::records, Cell{"records", "number", ""});
    column(&IntervalRow::operators, Cell{"operators", "number", "begun in it"});
    column(&IntervalRow::storages, Cell{"storages", "number", "born in it"});
    column(&IntervalRow::tensors, Cell{"tensors", "number", "born in it"});
    column(&IntervalRow::releases, Cell{"releases", "number", "final ones"});
    column(&IntervalRow::residual, Cell{"residual", "number", "of them, those that left bytes"});
    column(&IntervalRow::residual_bytes, Cell{"residual_bytes", "bytes", ""});
    column(&IntervalRow::span, FromTo{true});
  }
};

/// What the allocated curve of a device did in an interval.
struct IntervalCurveRow {
  RowId interval = 0;
  std::string_view device;  ///< static text
  std::int64_t begin_bytes = 0;
  std::int64_t peak_bytes = 0;
  Point peak_at;
  std::int64_t end_bytes = 0;
  std::int64_t allocs = 0, alloc_bytes = 0, frees = 0, free_bytes = 0;
  std::optional<std::int64_t> active_peak = {}, active_end = {}, reserved_peak = {}, reserved_end = {};

  static constexpr Table kTable{.name = "interval_curve",
                                .meaning = "What the allocated curve of a device did in an interval, exactly.",
                                .key = "interval, device"};
  static constexpr void describe(auto&& column) {
    column(&IntervalCurveRow::interval, Cell{"interval", "interval", ""});
    column(&IntervalCurveRow::device, Cell{"device", "text", ""});
    column(&IntervalCurveRow::begin_bytes, Cell{"begin_bytes", "bytes", "allocated when it began"});
    column(&IntervalCurveRow::peak_bytes, Cell{"peak_bytes", "bytes", ""});
    column(&IntervalCurveRow::peak_at, At{"peak_", "where the peak was first reached"});
    column(&IntervalCurveRow::end_bytes, Cell{"end_bytes", "bytes", ""});
    column(&IntervalCurveRow::allocs, Cell{"allocs", "number", ""});
    column(&IntervalCurveRow::alloc_bytes, Cell{"alloc_bytes", "bytes", ""});
    column(&IntervalCurveRow::frees, Cell{"frees", "number", ""});
    column(&IntervalCurveRow::free_bytes, Cell{"free_bytes", "bytes", ""});
    column(&IntervalCurveRow::active_peak,
           Cell{"active_peak_bytes", "bytes", "of torch's CUDA allocator: allocated, or waiting for a stream", 2});
    column(&IntervalCurveRow::active_end, Cell{"active_end_bytes", "bytes", "", 2});
    column(&IntervalCurveRow::reserved_peak,
           Cell{"reserved_peak_bytes", "bytes", "of torch's CUDA allocator: all its segments", 2});
    column(&IntervalCurveRow::reserved_end, Cell{"reserved_end_bytes", "bytes", "", 2});
  }
};

struct KeySumRow {
  std::int64_t graph = 0, key = 0;
  std::int64_t gathers = 0, releases = 0, final = 0, residual = 0, residual_bytes = 0, reads = 0, empty_reads = 0;
  std::int64_t kernel_reads = 0;

  static constexpr Table kTable{
      .name = "key_sum", .meaning = "Exact counts of a parameter over the whole run.", .key = "graph, key"};
  static constexpr void describe(auto&& column) {
    column(&KeySumRow::graph, Cell{"graph", "number", ""});
    column(&KeySumRow::key, Cell{"key", "number", ""});
    column(&KeySumRow::gathers, Cell{"gathers", "number", ""});
    column(&KeySumRow::releases, Cell{"releases", "number", ""});
    column(&KeySumRow::final, Cell{"final", "number", "of those, the ones that ended the use"});
    column(&KeySumRow::residual, Cell{"residual", "number", "of those, the ones that left bytes"});
    column(&KeySumRow::residual_bytes, Cell{"residual_bytes", "bytes", ""});
    column(&KeySumRow::reads, Cell{"reads", "number", "by operators, after a release"});
    column(&KeySumRow::empty_reads, Cell{"empty_reads", "number", "of those: the data was gone"});
    column(&KeySumRow::kernel_reads, Cell{"kernel_reads", "number", "by kernels: up to 64 for one release"});
  }
};

/// A key that a Python function gathers.
struct ParameterRow {
  std::int64_t graph = 0, key = 0;
  RowId name = 0;
  RowId mechanism = 0;

  static constexpr Table kTable{
      .name = "parameter", .meaning = "A key that Python functions gather.", .since = 3, .key = "graph, key"};
  static constexpr void describe(auto&& column) {
    column(&ParameterRow::graph, Cell{"graph", "number", "below 0: stands for the mechanism"});
    column(&ParameterRow::key, Cell{"key", "number", ""});
    column(&ParameterRow::name, OrNull{"name", "string", "as the framework calls it; NULL: not known"});
    column(&ParameterRow::mechanism, Cell{"mechanism", "string", "who gathers and releases it"});
  }
};

/// A call of an operator whose observed aliases differ from those of the call before. Its id is its sequence.
struct OperatorAliasRow {
  RowId id = 0;
  RowId name = 0, schema = 0;
  std::int64_t declared = 0, observed = 0;

  static constexpr Table kTable{
      .name = "operator_alias", .meaning = "What the results of operators share with their arguments.", .since = 4};
  static constexpr void describe(auto&& column) {
    column(&OperatorAliasRow::id, Cell{"id", "seq", "of the call that showed it"});
    column(&OperatorAliasRow::name, Cell{"name", "string", "the operator, with its overload"});
    column(&OperatorAliasRow::schema, Cell{"schema", "string", ""});
    column(&OperatorAliasRow::declared,
           Cell{"declared", "bits", "8 · output + argument: the schema says that the output may be the argument"});
    column(&OperatorAliasRow::observed, Cell{"observed", "bits", "the same: the output was on the argument's storage"});
  }
};

/// A part of a device's curve, on one level of detail: from its first change until the next row of the level begins.
struct PyramidRow {
  std::string_view device;
  std::int64_t level = 0;
  Point from;                  ///< of its first change
  std::int64_t last = 0;       ///< bytes after its last change
  std::int64_t lowest = 0;     ///< lowest value after any of its changes
  std::int64_t highest = 0;    ///< highest value; exact, also in intervals without rows
  Point highest_at;            ///< where the curve first reached `highest`
  std::int64_t sums_only = 0;  ///< how many of its changes are intervals without rows; in those the curve may have been
                               ///< below `lowest`

  /// Merges the row that follows.
  void merge(const PyramidRow& next) {
    last = next.last;
    lowest = std::min(lowest, next.lowest);
    sums_only += next.sums_only;
    if (next.highest <= highest) return;
    highest = next.highest;
    highest_at = next.highest_at;
  }

  static constexpr Table kTable{.name = "pyramid",
                                .meaning = "The allocated curve of each device, on several levels of detail.",
                                .key = "device, level, from_seq",
                                .at_finish = true};
  static constexpr void describe(auto&& column) {
    column(&PyramidRow::device, Cell{"device", "text", ""});
    column(&PyramidRow::level, Cell{"level", "number", "0: a row has 64 changes of the curve"});
    column(&PyramidRow::from, At{"from_", "of its first change"});
    column(&PyramidRow::last, Cell{"last", "bytes", "after its last change"});
    column(&PyramidRow::lowest, Cell{"lowest", "bytes", "after any of its changes"});
    column(&PyramidRow::highest, Cell{"highest", "bytes", "exact, also in intervals without rows"});
    column(&PyramidRow::highest_at, At{"highest_", "where `highest` was first reached"});
    column(&PyramidRow::sums_only,
           Cell{"sums_only", "number", "of its changes, those that are intervals without rows"});
  }
};

struct DiagnosticRow {
  RowId id = 0;
  Point at;
  std::string_view code;
  RowId text = 0;

  static constexpr Table kTable{.name = "diagnostic", .meaning = "Messages of the agent and the recorder."};
  static constexpr void describe(auto&& column) {
    column(&DiagnosticRow::id, Cell{"id", "id", ""});
    column(&DiagnosticRow::at, At{"", ""});
    column(&DiagnosticRow::code, Cell{"code", "text", ""});
    column(&DiagnosticRow::text, Cell{"text", "string", ""});
  }
};

struct LossRow {
  RowId id = 0;
  std::string_view reason;  ///< static text
  std::int64_t count = 0;
  std::int64_t from_seq = 0;
  std::int64_t to_seq = 0;
  std::int64_t ns = 0;
  std::optional<std::int64_t> from_ns = {};

  static constexpr std::string_view kReasons[] = {"no_room", "in_flight", "damaged", "over --max-disk"};

  static constexpr Table kTable{.name = "loss", .meaning = "Records that are missing."};
  static constexpr void describe(auto&& column) {
    column(&LossRow::id, Cell{"id", "id", ""});
    column(&LossRow::reason, Cell{"reason", "text", "", 1, kReasons});
    column(&LossRow::count, Cell{"count", "number", ""});
    column(&LossRow::from_seq, Cell{"from_seq", "seq", "of the first of them, or of the report of the loss"});
    column(&LossRow::to_seq, Cell{"to_seq", "seq", ""});
    column(&LossRow::ns, Cell{"ns", "ns", "of the report of the loss"});
    column(&LossRow::from_ns, Cell{"from_ns", "ns", "when the first of them was lost; NULL: not known", 6});
  }
};

}  // namespace dcmt
