// Operators, gathers and releases of a trace as rows of the timeline.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/model/analysis.h"
#include "render/scene/frame.h"

namespace dcmt::load {

/// A row for each of the threads with most operators, with the operators that ran in no other one.
/// @param sequence_of  returns the sequence of the event at which a unit begins
/// @param recording  must outlive the rows, like `data`
[[nodiscard]] std::vector<scene::SpanRow> operator_rows(const analyzer::TraceData& data,
                                                        const scene::Recording& recording,
                                                        std::function<Sequence(scene::Unit)> sequence_of);

/// Rows of gathers and waits, and of releases; those that left bytes are highlighted. Rows without points are omitted.
[[nodiscard]] std::vector<scene::PointRow> release_rows(const analyzer::Analysis& analysis,
                                                        const std::function<scene::Unit(Sequence)>& unit_of);

}  // namespace dcmt::load
