#include "analyzer/time/step_peaks.h"

#include <algorithm>
#include <utility>

namespace dcmt::analyzer {
namespace {

/// Height at the begin of each step, and the maximum within it. Steps are in order and do not overlap.
std::vector<std::pair<Bytes, Bytes>> heights(const TraceData& data, StringId device, const std::vector<Gap>& gaps,
                                             const std::vector<Step>& steps) {
  std::vector<std::pair<Bytes, Bytes>> result;  // the last one is of the step that has begun
  auto step = steps.begin();
  bool begun = false;
  Bytes now;
  for_each_point(data, device, gaps, [&](const CurvePoint& point) {
    for (; step != steps.end(); ++step, begun = false) {
      if (!begun && point.seq > step->from) {
        result.emplace_back(now, now);
        begun = true;
      }
      if (!begun || point.seq < step->to) {
        now = point.bytes;
        if (begun) result.back().second = std::max(result.back().second, now);
        return;
      }
    }
  });
  result.resize(steps.size(), {now, now});
  return result;
}

}  // namespace

std::vector<StepPeak> step_peaks(const TraceData& data, const std::vector<Step>& steps, StringId device,
                                 const std::vector<Gap>& gaps) {
  std::vector<Step> finished;
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(finished), [](const Step& s) { return s.to.valid(); });
  const auto measured = heights(data, device, {}, finished);
  const auto predicted = gaps.empty() ? measured : heights(data, device, gaps, finished);
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
