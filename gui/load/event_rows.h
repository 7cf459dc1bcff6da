// Operators, gathers and releases of a trace as rows of the timeline.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/model/analysis.h"
#include "gui/scene/frame.h"

namespace dcmt::gui::load {

/// A row for each of the threads that ran most, with the operators that ran in no other one.
/// @param sequence_of  of the event at which a unit begins
/// @param recording  outlives the rows, like `data`
[[nodiscard]] std::vector<scene::SpanRow> operator_rows(const analyzer::TraceData& data,
                                                        const scene::Recording& recording,
                                                        std::function<Sequence(scene::Unit)> sequence_of);

/// Gathers and waits; releases, of which those that left bytes stand out. None where the trace has none of a row.
[[nodiscard]] std::vector<scene::PointRow> release_rows(const analyzer::Analysis& analysis,
                                                        const std::function<scene::Unit(Sequence)>& unit_of);

}  // namespace dcmt::gui::load
