#include "analyzer/ranks/rank_rows.h"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace dcmt::analyzer {
namespace {

/// "cuda:3" → "cuda" and 3.
std::pair<std::string, std::optional<std::int64_t>> parts_of(const std::string& device) {
  const std::size_t colon = device.find(':');
  if (colon == std::string::npos) return {device, std::nullopt};
  std::int64_t number = 0;
  const char* const end = device.data() + device.size();
  const auto [stop, error] = std::from_chars(device.data() + colon + 1, end, number);
  if (error != std::errc() || stop != end || number < 0) return {device, std::nullopt};
  return {device.substr(0, colon), number};
}

void add_row(const RankFacts& facts, const RankPeak* peak, bool first, std::vector<RankRow>& rows) {
  RankRow own;
  std::optional<std::int64_t> number;
  if (peak != nullptr) {
    std::tie(own.device_kind, number) = parts_of(peak->device);
    own.device = {peak->bytes, peak->step, peak->predicted};
  }
  if (first) {
    own.rank = {facts.residual_keys(), facts.residual_bytes(), facts.final_releases(), facts.gathers(),
                facts.steps_ended};
  }
  const auto alike = std::ranges::find_if(rows, [&](const RankRow& row) {
    return row.device_kind == own.device_kind && row.device == own.device && row.rank == own.rank;
  });
  RankRow& row = alike != rows.end() ? *alike : rows.emplace_back(std::move(own));
  row.ranks.push_back(facts.rank);
  if (number) row.device_numbers.push_back(*number);
  if (peak == nullptr) return;
  if (!row.at) row.at = {peak->at, peak->at};
  row.at = {std::min(row.at->first, peak->at), std::max(row.at->second, peak->at)};
}

template <class Difference, class Same>
std::vector<AlikeDifferences<Difference>> alike(const std::vector<Difference>& differences, const Same& same) {
  std::vector<AlikeDifferences<Difference>> groups;
  for (const Difference& difference : differences) {
    const auto found = std::ranges::find_if(groups, [&](const auto& group) {
      return group.first->key.graph == difference.key.graph && same(*group.first, difference);
    });
    auto& group = found != groups.end() ? *found : groups.emplace_back(AlikeDifferences<Difference>{&difference, {}});
    group.keys.push_back(difference.key.key);
  }
  return groups;
}

}  // namespace

std::vector<RankRow> rank_rows(const RankComparison& comparison) {
  std::vector<RankRow> rows;
  for (const RankFacts& facts : comparison.ranks) {
    if (facts.devices.empty()) add_row(facts, nullptr, true, rows);
    for (const RankPeak& peak : facts.devices) add_row(facts, &peak, &peak == &facts.devices.front(), rows);
  }
  return rows;
}

std::vector<AlikeDifferences<ParameterDifference>> alike_parameters(const RankComparison& comparison) {
  return alike(comparison.parameters, [](const ParameterDifference& a, const ParameterDifference& b) {
    return a.step == b.step && a.sides == b.sides;
  });
}

std::vector<AlikeDifferences<ResidualDifference>> alike_residual(const RankComparison& comparison) {
  return alike(comparison.residual,
               [](const ResidualDifference& a, const ResidualDifference& b) { return a.sides == b.sides; });
}

}  // namespace dcmt::analyzer
