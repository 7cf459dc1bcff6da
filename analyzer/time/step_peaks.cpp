#include "analyzer/time/step_peaks.h"

#include <algorithm>
#include <utility>

namespace dcmt::analyzer {
namespace {

/// Height at the begin of each step, and the maximum within it. Steps are in order and do not overlap.
std::vector<std::pair<Bytes, Bytes>> heights(const Curve& curve, const std::vector<Step>& steps) {
  std::vector<std::pair<Bytes, Bytes>> result;
  auto point = curve.begin();
  Bytes now;
  for (const Step& step : steps) {
    for (; point != curve.end() && point->seq <= step.from; ++point) now = point->bytes;
    const Bytes begin = now;
    Bytes peak = now;
    for (; point != curve.end() && point->seq < step.to; ++point) {
      now = point->bytes;
      peak = std::max(peak, now);
    }
    result.emplace_back(begin, peak);
  }
  return result;
}

}  // namespace

std::vector<StepPeak> step_peaks(const TraceData& data, const std::vector<Step>& steps, StringId device,
                                 const std::vector<Gap>& gaps) {
  std::vector<Step> finished;
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(finished), [](const Step& s) { return s.to.valid(); });
  const auto measured = heights(allocated_curve(data, device), finished);
  const auto predicted = gaps.empty() ? measured : heights(allocated_curve(data, device, gaps), finished);
  std::vector<StepPeak> peaks;
  for (std::size_t i = 0; i < finished.size(); ++i) {
    StepPeak peak{finished[i].number, measured[i].first, measured[i].second, {}, {}};
    if (!finished[i].sums.valid()) {
      peak.predicted_begin = predicted[i].first;
      peak.predicted_peak = predicted[i].second;
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace dcmt::analyzer
