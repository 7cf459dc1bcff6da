#include "analyzer/growth/outside_growth.h"

#include <algorithm>
#include <cstddef>

namespace dcmt::analyzer {
namespace {

/// The run is divided by its points into parts. Each part has a few points, so that one outlier has no effect.
constexpr std::size_t kManyPoints = 40, kFewPoints = 18;
constexpr std::size_t kManyParts = 8, kFewParts = 6;
/// Slopes are computed between at most this many points.
constexpr std::size_t kMostOfSlopes = 200;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The median of each part. A part without points, in which the recorder did not get to sample, has the mean of the
/// ones beside it. Nothing if two parts in a row have none: a jump there would look like growth.
std::optional<std::vector<double>> levels_of(std::vector<std::vector<double>> parts) {
  std::vector<double> levels(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].empty()) levels[i] = median(parts[i]);
  }
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    if (!parts[i].empty()) continue;
    if (parts[i - 1].empty() || parts[i + 1].empty()) return {};
    levels[i] = (levels[i - 1] + levels[i + 1]) / 2;
  }
  return levels;
}

}  // namespace

bool is_graph(std::string_view type) { return type == "graph" || type.ends_with(" of graphs"); }

// The Theil–Sen estimator.
double median_slope(std::span<const BytesAfter> points) {
  std::vector<BytesAfter> few;
  const std::size_t count = std::min(points.size(), kMostOfSlopes);
  for (std::size_t i = 0; i < count; ++i) few.push_back(points[i * points.size() / count]);
  std::vector<double> slopes;
  for (std::size_t i = 0; i < few.size(); ++i) {
    for (std::size_t j = i + 1; j < few.size(); ++j) {
      if (few[j].steps > few[i].steps) slopes.push_back((few[j].bytes - few[i].bytes) / (few[j].steps - few[i].steps));
    }
  }
  return slopes.empty() ? 0 : median(std::move(slopes));
}

std::optional<SteadyGrowth> steady_growth(std::span<const BytesAfter> points, const Evenness& even) {
  if (points.size() < kFewPoints) return {};
  const double from = points.front().steps, to = points.back().steps;
  if (to - from < even.shortest) return {};
  const std::size_t parts = points.size() >= kManyPoints ? kManyParts : kFewParts;
  std::vector<std::vector<double>> bytes(parts);
  for (const BytesAfter& point : points) {
    const double share = (point.steps - from) / (to - from);
    bytes[std::min(parts - 1, static_cast<std::size_t>(share * static_cast<double>(parts)))].push_back(point.bytes);
  }
  const std::optional<std::vector<double>> levels = levels_of(std::move(bytes));
  if (!levels) return {};
  std::vector<double> rises;
  for (std::size_t i = 0; i + 1 < parts; ++i) rises.push_back((*levels)[i + 1] - (*levels)[i]);
  const double typical = median(rises);
  const auto is_even = [&](double rise) { return rise >= even.least_rise * typical && rise <= even.most * typical; };
  const double slope = median_slope(points);
  if (typical <= 0 || slope <= 0 || !std::ranges::all_of(rises, is_even)) return {};
  return SteadyGrowth{slope, from, to};
}

}  // namespace dcmt::analyzer
