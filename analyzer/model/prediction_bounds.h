// What a predicted peak without growth says of the peak of a mended program: the value, the least, or the most.
#pragma once

#include <vector>

#include "analyzer/rules/finding.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

/// What the device's peak without all growth is. The most if memory still grows without what the findings keep. Else
/// the least if a statement uses what grows, or some of it may have to stay for another reason. The most, too, if the
/// peaks rise steadily, because work with what is kept takes more and more, and if there is something at that peak that
/// goes with the growth, of which the findings do not say so. Neither if both are so, or if early rounds alone reach
/// that peak, by what is estimated.
/// @param gaps  of all findings
/// @param predicted  the peak without them
/// @param growth  of one finding
[[nodiscard]] PredictedAs predicted_as(const TraceData& data, const std::vector<Gap>& gaps,
                                       const std::vector<Finding>& findings, const Peak& predicted,
                                       const Growth& growth);

}  // namespace dcmt::analyzer
