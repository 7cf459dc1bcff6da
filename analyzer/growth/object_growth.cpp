#include "analyzer/growth/object_growth.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace dcmt::analyzer {
namespace {

/// The readings are divided into parts; with fewer nothing is said.
constexpr std::size_t kMostParts = 4, kFewestParts = 3;
/// Each part adds at least at this share of the rate of the parts before it, and the end at this share of the whole.
constexpr double kLeastObjectRise = 0.3;
/// The first parts may add at lower rates than later ones, but at this share of the whole's.
constexpr double kLeastAtFirst = 0.02;
/// The end: a part of all readings.
constexpr double kEnd = 0.1;

/// The readings nearest to the bounds of parts; empty if two bounds have the same one.
std::vector<std::size_t> bounds_of(std::span<const EntriesAt> readings, std::size_t parts) {
  std::vector<std::size_t> bounds;
  const double from = readings.front().at, length = readings.back().at - from;
  for (std::size_t part = 0; part <= parts; ++part) {
    const double at = from + length * static_cast<double>(part) / static_cast<double>(parts);
    const auto nearest =
        std::ranges::min_element(readings, {}, [&](const EntriesAt& reading) { return std::abs(reading.at - at); });
    const auto index = static_cast<std::size_t>(nearest - readings.begin());
    if (!bounds.empty() && index <= bounds.back()) return {};
    bounds.push_back(index);
  }
  return bounds;
}

/// The value at a point between two readings, as if it had changed evenly between them.
double between(std::span<const EntriesAt> readings, std::span<const double> values, double at) {
  std::size_t after = 1;
  while (after + 1 < readings.size() && readings[after].at < at) ++after;
  const EntriesAt &from = readings[after - 1], &to = readings[after];
  const double share = to.at > from.at ? std::clamp((at - from.at) / (to.at - from.at), 0.0, 1.0) : 1;
  return values[after - 1] + share * (values[after] - values[after - 1]);
}

}  // namespace

bool keeps_growing(std::span<const EntriesAt> readings) {
  if (readings.size() <= kFewestParts || readings.back().at <= readings.front().at) return false;
  // Of what a reading has found, only that counts which no later one lacks.
  std::vector<double> lasting(readings.size());
  for (std::size_t i = readings.size(); i-- > 0;) {
    lasting[i] = i + 1 < readings.size() ? std::min(readings[i].entries, lasting[i + 1]) : readings[i].entries;
  }
  std::vector<std::size_t> bounds;
  std::size_t parts = kMostParts;
  for (; parts >= kFewestParts && bounds.empty(); --parts) bounds = bounds_of(readings, parts);
  if (bounds.empty()) return false;
  const double all = lasting.back() - lasting.front();
  if (all <= 0) return false;
  const double begin = readings.front().at, length = readings.back().at - begin, even = all / length;
  // The parts have equal lengths, whenever the readings near their bounds were: a short part has the rate of an
  // accident.
  std::vector<double> at_bound;
  for (std::size_t part = 0; part < bounds.size(); ++part) {
    at_bound.push_back(between(readings, lasting,
                               begin + length * static_cast<double>(part) / static_cast<double>(bounds.size() - 1)));
  }
  const double part_length = length / static_cast<double>(bounds.size() - 1);
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    const double before = i == 0 ? 0 : (at_bound[i] - at_bound[0]) / (part_length * static_cast<double>(i));
    const double rate = (at_bound[i + 1] - at_bound[i]) / part_length;
    if (rate < std::max(kLeastAtFirst * even, kLeastObjectRise * before)) return false;
  }
  std::size_t end = readings.size() - 1;
  while (end > 0 && readings[end].at > readings.back().at - kEnd * length) --end;
  return (lasting.back() - lasting[end]) / (readings.back().at - readings[end].at) >= kLeastObjectRise * even;
}

bool is_below(std::string_view path, std::string_view holder) {
  return path.size() > holder.size() && path.starts_with(holder) &&
         (path[holder.size()] == '[' || path[holder.size()] == '.' || path[holder.size()] == '{' ||
          path[holder.size()] == ' ');
}

}  // namespace dcmt::analyzer
