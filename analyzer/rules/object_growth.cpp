#include "analyzer/rules/object_growth.h"

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
  const auto rate = [&](std::size_t from, std::size_t to) {
    return (lasting[to] - lasting[from]) / (readings[to].at - readings[from].at);
  };
  const double even = rate(0, readings.size() - 1);
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    const double before = i == 0 ? 0 : rate(0, bounds[i]);
    if (rate(bounds[i], bounds[i + 1]) < std::max(kLeastAtFirst * even, kLeastObjectRise * before)) return false;
  }
  const double from_end = readings.back().at - kEnd * (readings.back().at - readings.front().at);
  std::size_t end = readings.size() - 1;
  while (end > 0 && readings[end].at > from_end) --end;
  return rate(end, readings.size() - 1) >= kLeastObjectRise * even;
}

bool is_below(std::string_view path, std::string_view holder) {
  return path.size() > holder.size() && path.starts_with(holder) &&
         (path[holder.size()] == '[' || path[holder.size()] == '.' || path[holder.size()] == '{' ||
          path[holder.size()] == ' ');
}

}  // namespace dcmt::analyzer
