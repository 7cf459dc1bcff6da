#include "analyzer/time/curve_overview.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/time/curve.h"

namespace dcmt::analyzer {
namespace {

constexpr std::string_view kStep = "step:";

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The first and the last sequence that a moment's name stands for.
Expected<std::pair<Sequence, Sequence>> moment_of(Database& database, StepLookup& steps, std::string_view name) {
  std::optional<std::pair<Sequence, Sequence>> found;
  if (const auto sequence = number_in(name)) {
    if (*sequence > 0) found = {Sequence(*sequence), Sequence(*sequence)};
  } else if (const auto step = name.starts_with(kStep) ? number_in(name.substr(kStep.size())) : std::nullopt) {
    Expected<std::optional<std::pair<Sequence, Sequence>>> ends = steps.ends_of(*step);
    if (!ends.ok()) return ends.error();
    found = *ends;
  }
  if (found) return *found;
  return Error{ErrorCode::kUsage, database.path() + ": no moment '" + std::string(name) +
                                      "'. --from and --to take a sequence number or step:N."};
}

Expected<DeviceCurve> device_of(Database& database, const std::vector<DeviceCurve>& devices, const std::string& name) {
  if (name.empty()) return devices.front();
  std::vector<std::string_view> names;
  for (const DeviceCurve& device : devices) names.push_back(device.device);
  const Expected<std::size_t> at = device_named(database.path(), names, name);
  if (!at.ok()) return at.error();
  return devices[*at];
}

Expected<CurveOverview> read(Database& database, const CurveQuestion& question) {
  Expected<Pyramid> pyramid = Pyramid::open(database);
  if (!pyramid.ok()) return pyramid.error();
  CurveOverview overview;
  overview.devices = pyramid->devices();
  overview.stored = pyramid->stored();
  overview.start = pyramid->start();
  if (overview.devices.empty()) return overview;
  Expected<DeviceCurve> device = device_of(database, overview.devices, question.device);
  if (!device.ok()) return device.error();
  overview.device = std::move(*device);

  Expected<StepLookup> steps = StepLookup::open(database);
  if (!steps.ok()) return steps.error();
  Sequence from = overview.device.whole.from;
  Sequence to = overview.device.whole.to;
  if (!question.from.empty()) {
    Expected<std::pair<Sequence, Sequence>> moment = moment_of(database, *steps, question.from);
    if (!moment.ok()) return moment.error();
    from = moment->first;
  }
  if (!question.to.empty()) {
    Expected<std::pair<Sequence, Sequence>> moment = moment_of(database, *steps, question.to);
    if (!moment.ok()) return moment.error();
    to = moment->second;
  }
  if (to < from) {
    return Error{ErrorCode::kUsage, database.path() + ": --from lies after --to (sequences " +
                                        std::to_string(from.value) + " and " + std::to_string(to.value) + ")."};
  }
  Expected<std::vector<CurveStretch>> stretches = pyramid->stretches(overview.device, from, to, question.rows);
  if (!stretches.ok()) return stretches.error();
  for (const CurveStretch& stretch : *stretches) {
    Expected<std::optional<StepRange>> within = steps->between(stretch.from, Sequence(stretch.to.value - 1));
    if (!within.ok()) return within.error();
    overview.rows.push_back({stretch, *within});
  }
  const Sequence peak = overview.device.whole.highest_seq;
  Expected<std::optional<StepRange>> at_peak = steps->between(peak, peak);
  if (!at_peak.ok()) return at_peak.error();
  overview.peak_steps = *at_peak;
  return overview;
}

}  // namespace

Expected<CurveOverview> curve_overview(Database& database, const CurveQuestion& question) {
  DCMT_RETURN_IF_ERROR(database.execute("BEGIN"));
  Expected<CurveOverview> overview = read(database, question);
  const Status ended = database.execute(overview.ok() ? "COMMIT" : "ROLLBACK");
  return overview.ok() && !ended.ok() ? Expected<CurveOverview>(ended.error()) : std::move(overview);
}

}  // namespace dcmt::analyzer
