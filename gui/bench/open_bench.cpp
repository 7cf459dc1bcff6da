// Measures the costs of a trace in the viewer, without a window: the first picture from the stored curve, opening the
// trace, 200 steps of zoom, pan, jump and scroll with a bar selected after each, the live set of random points, and the
// curve without 1,000 lifetimes. Prints one JSON line. Usage: open_bench TRACE [WIDTH HEIGHT]
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "analyzer/model/live_set.h"
#include "analyzer/model/views.h"
#include "analyzer/time/curve.h"
#include "gui/bench/frames.h"
#include "render/load/device_timeline.h"
#include "render/load/hold_arrows.h"
#include "render/load/overview.h"
#include "render/load/session.h"
#include "render/scene/overview.h"
#include "render/scene/raster.h"

namespace {

using namespace dcmt;  // NOLINT(google-build-using-namespace)
using gui::bench::percentile;
using gui::bench::seconds;

constexpr std::size_t kStretches = 2000;  // as the window requests
constexpr int kPoints = 100;
constexpr int kTimes = 10;
constexpr std::size_t kLeftOut = 1000;

long peak_rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

int fail(const Error& error) {
  std::fprintf(stderr, "open_bench: %s\n", error.message.c_str());
  return 1;
}

/// The live set of the panel: all bytes, and the groups by site. Milliseconds of each.
std::vector<double> live_sets(const load::Session& session, const load::DeviceTimeline& device) {
  std::mt19937 random(1);
  std::vector<double> took;
  for (int i = 0; i < kPoints; ++i) {
    const Sequence at = device.sequence_of(static_cast<scene::Unit>(random() % device.recording().units()));
    const double from = seconds(CLOCK_MONOTONIC);
    const model::LiveSet live(session.data.get(), &session.analysis.phases, device.device().device, at);
    if (live.by(analyzer::GroupBy::kSite).groups.empty() && live.bytes().value != 0) std::abort();
    took.push_back((seconds(CLOCK_MONOTONIC) - from) * 1e3);
  }
  return took;
}

/// The predicted peak and the curve without the second half of 1,000 lifetimes, as after a tick. Milliseconds of each.
std::vector<double> what_ifs(const load::Session& session, const load::DeviceTimeline& device) {
  const scene::Recording& recording = device.recording();
  const std::size_t count = recording.lifetimes().size();
  std::mt19937 random(2);
  std::vector<double> took;
  for (int times = 0; times < kTimes; ++times) {
    std::vector<std::size_t> ids;
    for (std::size_t i = 0; i < std::min(kLeftOut, count); ++i) ids.push_back(random() % count);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    const double from = seconds(CLOCK_MONOTONIC);
    std::vector<analyzer::Gap> gaps;
    std::vector<scene::LeftOut> left_out;
    for (const std::size_t id : ids) {
      const scene::Lifetime& of = recording.lifetimes()[id];
      const scene::Unit middle = of.from + (of.to - of.from) / 2;
      const analyzer::Block& block = device.block_of(static_cast<scene::LifetimeId>(id));
      gaps.push_back({&block, device.sequence_of(middle), block.span.to_seq});
      left_out.push_back({middle, -of.bytes});
      if (of.to < recording.units()) left_out.push_back({of.to, of.bytes});
    }
    std::sort(left_out.begin(), left_out.end(), [](const auto& a, const auto& b) { return a.unit < b.unit; });
    const analyzer::Peak peak = analyzer::peak_of(*session.data, device.device().device, gaps);
    const scene::Curve curve(recording, std::move(left_out));
    took.push_back((seconds(CLOCK_MONOTONIC) - from) * 1e3);
    if (peak.bytes.value <= 0 || curve.peak() <= 0) std::abort();
  }
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    std::fprintf(stderr, "usage: open_bench TRACE [WIDTH HEIGHT]\n");
    return 2;
  }
  scene::Appearance appearance =
      gui::bench::appearance_of(argc == 4 ? argv[2] : nullptr, argc == 4 ? argv[3] : nullptr);

  const double begin = seconds(CLOCK_MONOTONIC);
  const auto overview = load::read_overview(argv[1], kStretches);
  if (!overview.ok()) return fail(overview.error());
  scene::Raster raster;
  raster.begin(appearance.width, appearance.height, appearance.theme->background);
  scene::draw_overview(*overview, appearance, "reading the rest", raster);
  const double first_picture = seconds(CLOCK_MONOTONIC) - begin;

  const auto session = load::open_session(argv[1]);
  if (!session.ok()) return fail(session.error());
  const double opened = seconds(CLOCK_MONOTONIC) - begin;
  const double opened_cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  const long memory = peak_rss_mib();

  const load::DeviceTimeline& device = *(*session)->devices.front();
  scene::Painter painter;
  const auto frames = gui::bench::draw_frames(device.document(), appearance, painter);
  const auto warm = gui::bench::draw_frames(device.document(), appearance, painter);
  // Repeats the steps. After each one, the topmost bar in the middle of the picture is selected, as by a click.
  std::vector<double> selects;
  scene::Painter again;
  scene::Appearance of_frame = appearance;
  gui::bench::draw_frames(
      device.document(), of_frame, painter, [&](const scene::Painter& drawn, const scene::View& view) {
        std::optional<scene::Hit> hit;
        for (int y = 0; y < appearance.height && !hit; y += 4)
          hit = drawn.hit(device.document(), appearance.width / 2, y);
        if (!hit) return;
        const double from = seconds(CLOCK_MONOTONIC);
        const analyzer::Block& block = device.block_of(hit->lifetime);
        static_cast<void>(model::storage_view((*session)->path, (*session)->analysis, block.storage));
        scene::Appearance selected = of_frame;
        selected.selected = hit->lifetime;
        selected.holds = load::hold_arrows(device, (*session)->holds, {hit->lifetime});
        raster.begin(selected.width, selected.height, selected.theme->background);
        again.draw(device.document(), view, selected, raster);
        selects.push_back((seconds(CLOCK_MONOTONIC) - from) * 1e3);
      });
  const std::vector<double> live = live_sets(**session, device);
  const std::vector<double> without = what_ifs(**session, device);

  std::printf(
      "{\"lifetimes\": %zu, \"lanes\": %u, \"first_picture_s\": %.3f, \"open_s\": %.2f, \"open_cpu_s\": %.2f, "
      "\"open_rss_mib\": %ld, \"rss_mib\": %ld, \"frame_p50_ms\": %.2f, \"frame_p99_ms\": %.2f, "
      "\"frame_wall_p50_ms\": %.2f, \"frame_wall_p99_ms\": %.2f, \"allocations\": %llu, \"runs\": %llu, "
      "\"selects\": %zu, \"select_p50_ms\": %.2f, \"select_p99_ms\": %.2f, \"live_p50_ms\": %.2f, "
      "\"live_max_ms\": %.2f, \"what_if_p50_ms\": %.1f, \"what_if_max_ms\": %.1f}\n",
      device.recording().lifetimes().size(), device.document().lanes->size(), first_picture, opened, opened_cpu, memory,
      peak_rss_mib(), percentile(frames.cpu_ms, 0.5), percentile(frames.cpu_ms, 0.99), percentile(frames.wall_ms, 0.5),
      percentile(frames.wall_ms, 0.99), static_cast<unsigned long long>(warm.allocations),
      static_cast<unsigned long long>(frames.runs), selects.size(), percentile(selects, 0.5), percentile(selects, 0.99),
      percentile(live, 0.5), percentile(live, 1), percentile(without, 0.5), percentile(without, 1));
  return 0;
}
