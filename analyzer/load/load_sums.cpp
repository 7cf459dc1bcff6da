// Loads sums of the whole run, for rows that are missing or were lost, and parameters.
#include <algorithm>
#include <string>

#include "analyzer/load/row_cursor.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

Status TraceData::load_losses(Database& database) {
  const Expected<bool> since = has_column(database, "loss", "from_ns");  // not before schema 6
  if (!since.ok()) return since.error();
  const std::string sql = std::string("SELECT id, reason, count, from_seq, to_seq, ") + (*since ? "from_ns" : "NULL") +
                          " FROM loss ORDER BY id";
  return read_rows(database, sql, [&](Cursor& in) {
    Loss loss;
    loss.id = in.id<LossId>();
    loss.reason = intern(printable(in.text()));
    loss.count = in.integer();
    loss.from_seq = in.id<Sequence>();
    loss.to_seq = in.id<Sequence>();
    loss.from_ns = in.id<TimeNs>();
    // For gaps, all lost sequences are recorded. For other losses, the first one may be unknown.
    const bool is_gap = text(loss.reason) == "in_flight" || text(loss.reason) == "damaged";
    if (!is_gap && !loss.from_ns.valid()) loss.from_seq = Sequence();
    losses.push_back(loss);
  });
}

Status TraceData::load_intervals(Database& database) {
  DCMT_RETURN_IF_ERROR(
      read_rows(database,
                "SELECT id, step, steps, kept, releases, residual, from_seq, to_seq, from_ns, to_ns FROM interval"
                " ORDER BY from_seq",
                [&](Cursor& in) {
                  Interval interval;
                  interval.id = in.id<IntervalId>();
                  interval.step = in.optional_integer();
                  interval.steps = in.integer();
                  interval.kept = kept_of(in.text());
                  interval.releases = in.integer();
                  interval.residual = in.integer();
                  interval.span = in.span();
                  intervals.push_back(interval);
                }));
  has_sums_only_ = std::any_of(intervals.begin(), intervals.end(),
                               [](const Interval& interval) { return interval.kept == Kept::kNo; });
  DCMT_RETURN_IF_ERROR(
      read_rows(database,
                "SELECT i.from_seq, i.to_seq, i.from_ns, i.to_ns, device, begin_bytes, peak_bytes, peak_seq, peak_ns,"
                " end_bytes FROM interval i JOIN interval_curve ON interval = i.id WHERE kept IS NULL"
                " ORDER BY i.from_seq",
                [&](Cursor& in) {
                  IntervalCurve curve;
                  curve.span = in.span();
                  curve.device = intern(printable(in.text()));
                  curve.begin = in.bytes();
                  curve.peak = in.bytes();
                  curve.peak_seq = in.id<Sequence>();
                  curve.peak_ns = in.id<TimeNs>();
                  curve.end = in.bytes();
                  interval_curves.push_back(curve);
                }));
  return read_rows(
      database,
      "SELECT graph, key, gathers, releases, final, residual, residual_bytes, reads, empty_reads, kernel_reads"
      " FROM key_sum",
      [&](Cursor& in) {
        KeySum sum;
        sum.key.graph = in.any();
        sum.key.key = in.any();
        sum.gathers = in.integer();
        sum.releases = in.integer();
        sum.final = in.integer();
        sum.residual = in.integer();
        sum.residual_bytes = in.run_count();
        sum.reads = in.integer();
        sum.empty_reads = in.integer();
        sum.kernel_reads = in.integer();
        key_sums.push_back(sum);
      });
}

Status TraceData::load_parameters(Database& database) {
  Expected<bool> known = has_table(database, "parameter");  // from schema 3
  if (!known.ok()) return known.error();
  if (!*known) return {};
  return read_rows(database, "SELECT graph, key, name, mechanism FROM parameter ORDER BY graph, key", [&](Cursor& in) {
    Parameter parameter;
    parameter.key.graph = in.any();
    parameter.key.key = in.any();
    parameter.name = in.id<StringId>();
    parameter.mechanism = in.id<StringId>();
    parameters.push_back(parameter);
  });
}

}  // namespace dcmt::analyzer
