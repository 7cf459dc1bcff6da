#include "analyzer/time/curve_overview.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/time/curve.h"
#include "analyzer/time/named_point.h"

namespace dcmt::analyzer {
namespace {

constexpr std::string_view kStep = "step:";

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The first and the last sequence that a point's name stands for.
Expected<std::pair<Sequence, Sequence>> ends_of_point(Database& database, StepLookup& steps, std::string_view name) {
  std::optional<std::pair<Sequence, Sequence>> found;
  if (const auto sequence = number_in(name)) {
    if (*sequence > 0) found = {Sequence(*sequence), Sequence(*sequence)};
  } else if (const auto step = name.starts_with(kStep) ? number_in(name.substr(kStep.size())) : std::nullopt) {
    DCMT_ASSIGN_OR_RETURN(auto ends, steps.ends_of(*step));
    found = ends;
  }
  if (found) return *found;
  return no_point(database.path(), name, "--from and --to take a sequence number or step:N");
}

Expected<DeviceCurve> device_of(Database& database, const std::vector<DeviceCurve>& devices, const std::string& name) {
  if (name.empty()) return devices.front();
  std::vector<std::string_view> names;
  for (const DeviceCurve& device : devices) names.push_back(device.device);
  DCMT_ASSIGN_OR_RETURN(const std::size_t at, device_named(database.path(), names, name));
  return devices[at];
}

Expected<CurveOverview> read(Database& database, const CurveQuestion& question) {
  DCMT_ASSIGN_OR_RETURN(Pyramid pyramid, Pyramid::open(database));
  CurveOverview overview;
  overview.devices = pyramid.devices();
  overview.stored = pyramid.stored();
  overview.start = pyramid.start();
  if (overview.devices.empty()) return overview;
  DCMT_ASSIGN_OR_RETURN(DeviceCurve device, device_of(database, overview.devices, question.device));
  overview.device = std::move(device);

  DCMT_ASSIGN_OR_RETURN(StepLookup steps, StepLookup::open(database));
  Sequence from = overview.device.whole.from;
  Sequence to = overview.device.whole.to;
  if (!question.from.empty()) {
    DCMT_ASSIGN_OR_RETURN(auto ends, ends_of_point(database, steps, question.from));
    from = ends.first;
  }
  if (!question.to.empty()) {
    DCMT_ASSIGN_OR_RETURN(auto ends, ends_of_point(database, steps, question.to));
    to = ends.second;
  }
  if (to < from) {
    return Error{ErrorCode::kUsage, database.path() + ": --from lies after --to (sequences " +
                                        std::to_string(from.value) + " and " + std::to_string(to.value) + ")."};
  }
  DCMT_ASSIGN_OR_RETURN(std::vector<CurveStretch> stretches,
                        pyramid.stretches(overview.device, from, to, question.rows));
  for (const CurveStretch& stretch : stretches) {
    DCMT_ASSIGN_OR_RETURN(std::optional<StepRange> within, steps.between(stretch.from, Sequence(stretch.to.value - 1)));
    overview.rows.push_back({stretch, within});
  }
  const Sequence peak = overview.device.whole.highest_seq;
  DCMT_ASSIGN_OR_RETURN(std::optional<StepRange> at_peak, steps.between(peak, peak));
  overview.peak_steps = at_peak;
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
