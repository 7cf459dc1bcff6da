#include "analyzer/time/step_peaks.h"

#include <algorithm>
#include <utility>

namespace dcmt::analyzer {
namespace {

/// The bytes at the begin of each step, and the maximum within it. Steps must be in order and must not overlap.
std::vector<std::pair<Bytes, Bytes>> heights(const TraceData& data, StringId device, const std::vector<Gap>& gaps,
                                             const std::vector<Step>& steps) {
  std::vector<std::pair<Bytes, Bytes>> result;  // the last entry is of the step that has begun
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

std::vector<Step> finished(const std::vector<Step>& steps) {
  std::vector<Step> all;
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(all), [](const Step& s) { return s.to.valid(); });
  return all;
}

/// `steps`: only finished ones.
void put_predicted(const std::vector<Step>& steps, const std::vector<std::pair<Bytes, Bytes>>& predicted,
                   std::vector<StepPeak>& peaks) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].sums.valid()) continue;
    peaks[i].predicted_begin = predicted[i].first;
    peaks[i].predicted_peak = predicted[i].second;
  }
}

}  // namespace

std::vector<StepPeak> step_peaks(const TraceData& data, const std::vector<Step>& steps, StringId device,
                                 const std::vector<Gap>& gaps) {
  const std::vector<Step> all = finished(steps);
  const auto measured = heights(data, device, {}, all);
  std::vector<StepPeak> peaks;
  for (std::size_t i = 0; i < all.size(); ++i) {
    peaks.push_back({all[i].number, measured[i].first, measured[i].second, {}, {}});
  }
  put_predicted(all, gaps.empty() ? measured : heights(data, device, gaps, all), peaks);
  return peaks;
}

void predict_step_peaks(const TraceData& data, const std::vector<Step>& steps, StringId device,
                        const std::vector<Gap>& gaps, std::vector<StepPeak>& peaks) {
  const std::vector<Step> all = finished(steps);
  put_predicted(all, heights(data, device, gaps, all), peaks);
}

}  // namespace dcmt::analyzer
