// Loads sums of the whole run, for rows that are missing or were lost, and parameters.
#include <algorithm>
#include <string_view>

#include "analyzer/load/table_reader.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

Status TraceData::load_losses(Database& database) {
  return read_rows<Loss>(
      database, "ORDER BY id",
      [this](Loss& loss) {
        // For gaps, all lost sequences are recorded. For other losses, the first one may be unknown.
        const bool is_gap = text(loss.reason) == "in_flight" || text(loss.reason) == "damaged";
        if (!is_gap && !loss.from_ns.valid()) loss.from_seq = Sequence();
        losses.push_back(loss);
      },
      column<&LossRow::id, &Loss::id>(),
      column<&LossRow::reason>([this](Loss& loss, std::string_view text) { loss.reason = intern(printable(text)); }),
      column<&LossRow::count, &Loss::count>(), column<&LossRow::from_seq, &Loss::from_seq>(),
      column<&LossRow::to_seq, &Loss::to_seq>(), column<&LossRow::from_ns, &Loss::from_ns>());
}

Status TraceData::load_intervals(Database& database) {
  DCMT_RETURN_IF_ERROR(read_rows<Interval>(
      database, "ORDER BY from_seq", [this](const Interval& interval) { intervals.push_back(interval); },
      column<&IntervalRow::id, &Interval::id>(), column<&IntervalRow::step, &Interval::step>(),
      column<&IntervalRow::steps, &Interval::steps>(), column<&IntervalRow::kept, &Interval::kept>(),
      column<&IntervalRow::releases, &Interval::releases>(), column<&IntervalRow::residual, &Interval::residual>(),
      column<&IntervalRow::span, &Interval::span>()));
  has_sums_only_ = std::any_of(intervals.begin(), intervals.end(),
                               [](const Interval& interval) { return interval.kept == Kept::kNo; });
  DCMT_RETURN_IF_ERROR(read_rows<IntervalCurve>(
      database, "JOIN interval ON id = interval WHERE kept IS NULL ORDER BY from_seq",
      [this](const IntervalCurve& curve) { interval_curves.push_back(curve); },
      column<&IntervalCurveRow::device>(
          [this](IntervalCurve& curve, std::string_view text) { curve.device = intern(printable(text)); }),
      column<&IntervalRow::span, &IntervalCurve::span>(),
      column<&IntervalCurveRow::begin_bytes, &IntervalCurve::begin>(),
      column<&IntervalCurveRow::peak_bytes, &IntervalCurve::peak>(),
      column<&IntervalCurveRow::peak_at>([](IntervalCurve& curve, const PointInTime& at) {
        curve.peak_seq = at.seq;
        curve.peak_ns = at.ns;
      }),
      column<&IntervalCurveRow::end_bytes, &IntervalCurve::end>()));
  return read_rows<KeySum>(
      database, "", [this](const KeySum& sum) { key_sums.push_back(sum); },
      column<&KeySumRow::graph>([](KeySum& sum, Any graph) { sum.key.graph = graph.value; }),
      column<&KeySumRow::key>([](KeySum& sum, Any key) { sum.key.key = key.value; }),
      column<&KeySumRow::gathers, &KeySum::gathers>(), column<&KeySumRow::releases, &KeySum::releases>(),
      column<&KeySumRow::final, &KeySum::final>(), column<&KeySumRow::residual, &KeySum::residual>(),
      column<&KeySumRow::residual_bytes, &KeySum::residual_bytes>(), column<&KeySumRow::reads, &KeySum::reads>(),
      column<&KeySumRow::empty_reads, &KeySum::empty_reads>(),
      column<&KeySumRow::kernel_reads, &KeySum::kernel_reads>());
}

Status TraceData::load_parameters(Database& database) {
  return read_rows<Parameter>(
      database, "ORDER BY graph, key", [this](const Parameter& parameter) { parameters.push_back(parameter); },
      column<&ParameterRow::graph>([](Parameter& parameter, Any graph) { parameter.key.graph = graph.value; }),
      column<&ParameterRow::key>([](Parameter& parameter, Any key) { parameter.key.key = key.value; }),
      column<&ParameterRow::name, &Parameter::name>(), column<&ParameterRow::mechanism, &Parameter::mechanism>());
}

}  // namespace dcmt::analyzer
