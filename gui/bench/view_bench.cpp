// Measures the cost of a frame without a window: builds a recording of N lifetimes like those of a training, then
// performs 200 steps of zoom, pan, jump and scroll. Prints one JSON line. Usage: view_bench LIFETIMES [WIDTH HEIGHT]
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "gui/bench/frames.h"
#include "render/scene/band_curves.h"
#include "render/scene/curve.h"
#include "render/scene/lanes.h"
#include "trace/base/quantities.h"

namespace {

using namespace dcmt::scene;
using dcmt::gui::bench::percentile;
using dcmt::gui::bench::seconds;

constexpr std::uint16_t kBandsOfBench = 12;

/// Steps with a forward that keeps activations, a backward that frees them in turn, and short temporaries in both.
Recording training(std::size_t lifetimes) {
  Recording recording;
  std::mt19937 random(1);
  std::vector<LifetimeId> kept;
  std::int64_t ns = 0;
  const auto begin = [&](std::uint16_t band, std::int64_t bytes) {
    return recording.begin(ns += 300 + static_cast<std::int64_t>(random() % 2000), bytes,
                           static_cast<std::uint8_t>(random() % kGroups), band);
  };
  const auto temporary = [&] {
    const LifetimeId id =
        begin(static_cast<std::uint16_t>(2 + random() % (kBandsOfBench - 2)), 65536 << (random() % 6));
    recording.end(ns += 200 + static_cast<std::int64_t>(random() % 3000), id);
  };
  for (int i = 0; i < 200; ++i) begin(1, 4 << 20);  // parameters
  std::vector<LifetimeId> dead;
  while (recording.lifetimes().size() < lifetimes) {
    for (int layer = 0; layer < 400; ++layer) {
      kept.push_back(begin(static_cast<std::uint16_t>(2 + random() % (kBandsOfBench - 2)), 65536 << (random() % 8)));
      for (int i = 0; i < 6; ++i) temporary();
      if (layer % 40 == 0) dead.push_back(begin(0, 1 << 20));
    }
    while (!kept.empty()) {
      for (int i = 0; i < 6; ++i) temporary();
      recording.end(ns += 500, kept.back());
      kept.pop_back();
    }
    for (const LifetimeId id : dead) recording.end(ns += 500, id);
    dead.clear();
  }
  recording.finish(ns + 1000);
  return recording;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    std::fprintf(stderr, "usage: view_bench LIFETIMES [WIDTH HEIGHT]\n");
    return 2;
  }
  const auto lifetimes = static_cast<std::size_t>(std::strtoull(argv[1], nullptr, 10));
  Appearance appearance = dcmt::gui::bench::appearance_of(argc == 4 ? argv[2] : nullptr, argc == 4 ? argv[3] : nullptr);
  const Recording recording = training(lifetimes);

  const double built_at = seconds(CLOCK_PROCESS_CPUTIME_ID);
  const Curve curve(recording);
  const BandCurves band_curves(recording, kBandsOfBench);
  const double curve_seconds = seconds(CLOCK_PROCESS_CPUTIME_ID) - built_at;
  const Lanes lanes(recording, kBandsOfBench);
  const double build_seconds = seconds(CLOCK_PROCESS_CPUTIME_ID) - built_at;

  Document document;
  document.recording = &recording;
  document.lanes = &lanes;
  document.curve = &curve;
  document.band_curves = &band_curves;
  for (std::uint16_t band = 0; band < kBandsOfBench; ++band)
    document.bands.push_back({"band", band == 0 ? 1 : 0, true});
  document.label = [&](LifetimeId id, std::string& text) {
    text = dcmt::rounded_bytes(recording.lifetimes()[id].bytes);
  };

  Painter painter;
  const dcmt::gui::bench::Frames frames = dcmt::gui::bench::draw_frames(document, appearance, painter);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"lifetimes\": %zu, \"lanes\": %u, \"build_s\": %.2f, \"curves_s\": %.2f, \"memory_mib\": %ld, "
      "\"frame_p50_ms\": %.2f, \"frame_p99_ms\": %.2f, \"frame_max_ms\": %.2f, \"allocations\": %llu}\n",
      recording.lifetimes().size(), lanes.size(), build_seconds, curve_seconds, usage.ru_maxrss / 1024,
      percentile(frames.cpu_ms, 0.5), percentile(frames.cpu_ms, 0.99), percentile(frames.cpu_ms, 1),
      static_cast<unsigned long long>(frames.allocations));
  return 0;
}
