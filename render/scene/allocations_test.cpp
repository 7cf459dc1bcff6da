// Tests that a frame allocates nothing after earlier frames have, by counting.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <random>

#include "render/scene/frame.h"
#include "render/scene/raster.h"
#include "render/scene/testing.h"

namespace {

std::atomic<std::int64_t> allocations{0};

void* counted(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}

/// Not inlined: GCC would see free() beside `new`, and warn that the two do not match.
[[gnu::noinline]] void give_back(void* memory) noexcept { std::free(memory); }

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  ++allocations;
  return std::malloc(bytes > 0 ? bytes : 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& tag) noexcept { return operator new(bytes, tag); }
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept { give_back(memory); }
void operator delete[](void* memory, const std::nothrow_t& /*tag*/) noexcept { give_back(memory); }
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t /*bytes*/) noexcept { give_back(memory); }

namespace dcmt::scene {
namespace {

TEST(Allocations, AFrameNeedsNone) {
  std::mt19937 random(1);
  constexpr std::uint16_t kBands = 4;
  const Recording recording = testing::random_recording(random, 60000, kBands);
  const Lanes lanes(recording, kBands);
  const Curve curve(recording);
  const BandCurves band_curves(recording, kBands);
  Document document;
  document.recording = &recording;
  document.lanes = &lanes;
  document.curve = &curve;
  document.without = &curve;
  document.band_curves = &band_curves;
  for (int i = 0; i < kBands; ++i) document.bands.push_back({"band " + std::to_string(i), i == 0 ? 1 : 0, true});
  for (Unit unit = 0; unit + 100 < recording.units(); unit += 100) {
    document.steps.push_back({std::to_string(unit / 100), unit, unit + 100});
    document.dead.push_back({unit / 100, unit, unit + 10});
  }
  document.points = {{"releases", {{"releases", 1, false, {5, 90, 700}}, {"left bytes", 0, true, {40}}}}};
  document.groups = {"a", "b"};
  document.peak_text = "peak";
  document.label = [](LifetimeId id, std::string& text) { text.assign(id % 2 == 0 ? "1.0 MiB · mm" : "2.0 MiB"); };
  Appearance appearance;
  appearance.width = 1280;
  appearance.height = 720;
  appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
  appearance.selected = 3;
  appearance.point = 77;
  Painter painter;
  Raster raster;
  const auto frames = [&] {
    for (const Axis axis : {Axis::kTime, Axis::kEvents}) {
      View view(recording, axis);
      for (int i = 0; i < 60; ++i) {
        raster.begin(appearance.width, appearance.height, appearance.theme->background);
        appearance.scroll = i * 7;
        painter.draw(document, view, appearance, raster);
        view.zoom(i < 40 ? 1.3 : 0.7, 0.4);
        view.pan(0.05);
      }
    }
  };
  frames();
  const std::int64_t before = allocations;
  EXPECT_GT(before, 0) << "the count counts";
  frames();
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace dcmt::scene
