// What a frame costs, without a window: builds a recording of N lifetimes as a training makes them, then takes 200
// steps of zoom, pan, jump and scroll. Prints one JSON line. Usage: view_bench LIFETIMES [WIDTH HEIGHT]
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "gui/scene/band_curves.h"
#include "gui/scene/bytes_text.h"
#include "gui/scene/curve.h"
#include "gui/scene/frame.h"
#include "gui/scene/lanes.h"
#include "gui/scene/raster.h"

namespace {

std::atomic<std::uint64_t> allocations{0};

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

namespace {

using namespace dcmt::gui::scene;

constexpr std::uint16_t kBandsOfBench = 12;

/// Steps of a forward that keeps activations, a backward that frees them in turn, and short temporaries in both.
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

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    std::fprintf(stderr, "usage: view_bench LIFETIMES [WIDTH HEIGHT]\n");
    return 2;
  }
  const auto lifetimes = static_cast<std::size_t>(std::strtoull(argv[1], nullptr, 10));
  Look look;
  look.width = argc == 4 ? std::atoi(argv[2]) : 1920;
  look.height = argc == 4 ? std::atoi(argv[3]) : 1080;
  look.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
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
  document.label = [&](LifetimeId id, std::string& text) { write_bytes(recording.lifetimes()[id].bytes, text); };

  Painter painter;
  Raster raster;
  std::mt19937 random(2);
  std::vector<double> frames;
  std::uint64_t allocated_by_frames = 0;
  int content = 0;
  View view(recording, Axis::kTime);
  for (int step = -20; step < 200; ++step) {
    if (step == -20 || step == 100) view = View(recording, step < 0 ? Axis::kTime : Axis::kEvents);
    const auto part = step % 100;
    if (part < 40)
      view.zoom(1.35, 0.4 + 0.002 * part);
    else if (part < 60)
      view.pan(0.1);
    else if (part < 70)
      view.show(view.length() * (part - 60) / 10, view.length() * (part - 59) / 10);
    else
      view.zoom(0.8, 0.5);
    look.scroll = part >= 70 ? content * (part - 70) / 30 : 0;
    const std::uint64_t before = allocations.load();
    const double from = seconds(CLOCK_THREAD_CPUTIME_ID);
    raster.begin(look.width, look.height, look.theme->background);
    content = painter.draw(document, view, look, raster).content;
    const double took = seconds(CLOCK_THREAD_CPUTIME_ID) - from;
    if (step < 0) continue;
    frames.push_back(took * 1e3);
    allocated_by_frames += allocations.load() - before;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"lifetimes\": %zu, \"lanes\": %u, \"build_s\": %.2f, \"curves_s\": %.2f, \"memory_mib\": %ld, "
      "\"frame_p50_ms\": %.2f, \"frame_p99_ms\": %.2f, \"frame_max_ms\": %.2f, \"allocations\": %llu}\n",
      recording.lifetimes().size(), lanes.size(), build_seconds, curve_seconds, usage.ru_maxrss / 1024,
      percentile(frames, 0.5), percentile(frames, 0.99), percentile(frames, 1),
      static_cast<unsigned long long>(allocated_by_frames));
  return 0;
}
