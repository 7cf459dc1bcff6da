#include "gui/bench/frames.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

#include "render/scene/raster.h"

namespace {

std::atomic<std::uint64_t> counted{0};

}  // namespace

void* operator new(std::size_t size) {
  counted.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

namespace dcmt::gui::bench {

std::uint64_t allocations() { return counted.load(); }

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

scene::Appearance appearance_of(const char* width, const char* height) {
  scene::Appearance appearance;
  appearance.width = width != nullptr ? std::atoi(width) : 1920;
  appearance.height = height != nullptr ? std::atoi(height) : 1080;
  appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
  return appearance;
}

Frames draw_frames(const scene::Document& document, scene::Appearance& appearance, scene::Painter& painter,
                   const std::function<void(const scene::Painter&, const scene::View&)>& after) {
  Frames frames;
  scene::Raster raster;
  int content = 0;
  scene::View view(*document.recording, scene::Axis::kTime);
  for (int step = -20; step < 200; ++step) {
    if (step == -20 || step == 100)
      view = scene::View(*document.recording, step < 0 ? scene::Axis::kTime : scene::Axis::kEvents);
    const auto part = step % 100;
    if (part < 40)
      view.zoom(1.35, 0.4 + 0.002 * part);
    else if (part < 60)
      view.pan(0.1);
    else if (part < 70)
      view.show(view.length() * (part - 60) / 10, view.length() * (part - 59) / 10);
    else
      view.zoom(0.8, 0.5);
    appearance.scroll = part >= 70 ? content * (part - 70) / 30 : 0;
    const std::uint64_t before = allocations();
    const double cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
    const double wall = seconds(CLOCK_MONOTONIC);
    raster.begin(appearance.width, appearance.height, appearance.theme->background);
    const scene::Facts& facts = painter.draw(document, view, appearance, raster);
    const double cpu_took = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    const double wall_took = seconds(CLOCK_MONOTONIC) - wall;
    content = facts.content;
    if (step < 0) continue;
    frames.cpu_ms.push_back(cpu_took * 1e3);
    frames.wall_ms.push_back(wall_took * 1e3);
    frames.allocations += allocations() - before;
    frames.runs = std::max(frames.runs, facts.runs);
    if (after) after(painter, view);
  }
  return frames;
}

}  // namespace dcmt::gui::bench
