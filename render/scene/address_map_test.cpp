#include "render/scene/address_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "render/scene/raster.h"
#include "render/scene/testing.h"

namespace dcmt::scene {
namespace {

using testing::random_below;

TEST(AddressMap, ShowsEachBlockWhereItLies) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const Recording recording = testing::random_recording(random, 10 + random_below(random, 400), 3);
    std::vector<Address> addresses;  // anywhere, without overlaps
    Address at = 0x7f0000000000;
    for (const Lifetime& lifetime : recording.lifetimes()) {
      addresses.push_back(random_below(random, 9) == 0 ? 0 : at);
      at += static_cast<Address>(lifetime.bytes) +
            static_cast<Address>(random_below(random, 6) == 0 ? kStretchGap : random_below(random, 3000));
    }
    const std::vector<AddressStretch> places = address_stretches(recording, addresses);
    const Unit unit = static_cast<Unit>(random_below(random, static_cast<int>(recording.units())));
    const std::vector<StretchAt> stretches = stretches_at(recording, addresses, places, unit);
    Appearance appearance;
    appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
    appearance.width = 300 + random_below(random, 900);
    appearance.height = address_map_height(stretches, appearance.text_height);
    Raster raster;
    raster.begin(appearance.width, appearance.height, appearance.theme->background);
    const AddressMapFacts facts = draw_address_map(recording, addresses, stretches, appearance, raster);
    EXPECT_EQ(facts.height, appearance.height);
    // The lines contain all addresses of the stretches in order.
    std::size_t stretch = 0;
    Address next = stretches.empty() ? 0 : stretches.front().addresses.from;
    for (const AddressMapFacts::Line& line : facts.lines) {
      if (line.stretch != stretch) {
        EXPECT_EQ(next, stretches[stretch].addresses.to);
        next = stretches[stretch = line.stretch].addresses.from;
      }
      EXPECT_EQ(line.addresses.from, next);
      next = line.addresses.to;
    }
    EXPECT_TRUE(facts.lines.empty() || stretch + 1 == stretches.size());
    // A column has a block's color exactly if a live block touches it.
    const double scale = facts.chart.width / static_cast<double>(facts.bytes_of_line);
    for (const AddressMapFacts::Line& line : facts.lines) {
      for (int x = 0; x < line.box.width; ++x) {
        const double from = static_cast<double>(line.addresses.from) + x / scale;
        const double to = std::min(from + 1 / scale, static_cast<double>(line.addresses.to));
        double covered = 0;
        for (const LifetimeId id : stretches[line.stretch].live) {
          const auto begin = static_cast<double>(addresses[id]);
          covered += std::max(
              0.0, std::min(to, begin + static_cast<double>(recording.lifetimes()[id].bytes)) - std::max(from, begin));
        }
        const bool found = hit(facts, line.box.x + x, line.box.y + 1).has_value();
        // At an edge, a column may contain less of a block than the precision of numbers.
        if (covered > 1e-2 * (to - from)) {
          EXPECT_TRUE(found) << "seed " << seed << " column " << x;
        }
        if (covered == 0 && found) {
          const double near = std::max(2.0, 0.02 / scale);
          double reach = 0;
          for (const LifetimeId id : stretches[line.stretch].live) {
            const auto begin = static_cast<double>(addresses[id]);
            const double end = begin + static_cast<double>(recording.lifetimes()[id].bytes);
            reach = std::max(reach, std::min(to + near, end) - std::max(from - near, begin));
          }
          EXPECT_GT(reach, 0) << "seed " << seed << " column " << x;
        }
      }
    }
  }
}

/// Checks the pixels in the middle of a line: a block, free space in a segment, or nothing.
TEST(AddressMap, WhatIsInNoSegmentIsEmpty) {
  Recording recording;
  recording.begin(1, 100'000, 0, 0);
  recording.begin(2, 50'000, 1, 0);
  recording.finish(3);
  const Address base = 0x10000000;
  const std::vector<Address> addresses{base + 100'000, base + 450'000};
  const std::vector<AddressStretch> segments{{base, base + 300'000}, {base + 400'000, base + 500'000}};
  const std::vector<AddressStretch> stretches = address_stretches(recording, addresses, segments);
  ASSERT_EQ(stretches.size(), 1U);
  Appearance appearance;
  appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
  appearance.width = 900;
  const auto drawn = [&](const std::optional<std::vector<AddressStretch>>& reserved) {
    const auto all = stretches_at(recording, addresses, stretches, 1, reserved);
    appearance.height = address_map_height(all, appearance.text_height);
    Raster raster;
    raster.begin(appearance.width, appearance.height, appearance.theme->background);
    const AddressMapFacts facts = draw_address_map(recording, addresses, all, appearance, raster);
    const Theme& theme = *appearance.theme;
    std::map<std::string, double> bytes;
    for (const AddressMapFacts::Line& line : facts.lines) {
      for (int x = line.box.x; x < line.box.x + line.box.width; ++x) {
        const Color pixel = raster.pixels()[static_cast<std::size_t>((line.box.y + 5) * appearance.width + x)];
        const Color color = pixel & 0xffffff;
        const bool block = color == theme.groups[0] || color == theme.groups[1];
        bytes[color == theme.sums_only    ? "free"
              : block                     ? "block"
              : color == theme.background ? "nothing"
                                          : "edge"] += static_cast<double>(facts.bytes_of_line) / facts.chart.width;
      }
    }
    return std::pair(bytes, facts.segments.size());
  };
  auto [bytes, frames] = drawn(segments);
  EXPECT_GE(frames, 2U);
  // A few columns are edges of frames and blocks.
  const double some = 10'000;
  EXPECT_NEAR(bytes["block"], 150'000, some);
  EXPECT_NEAR(bytes["free"], 250'000, some);
  EXPECT_NEAR(bytes["nothing"], 100'000, some);
  auto [without, none] = drawn(std::nullopt);
  EXPECT_EQ(none, 0U);
  EXPECT_NEAR(without["free"], 350'000, some) << "what is reserved is not known";
  EXPECT_NEAR(without["nothing"], 0, some);
}

TEST(AddressMap, OfVeryManyStretchesTheLastLineSaysHowManyAreMissing) {
  Recording recording;
  std::vector<Address> addresses;
  for (int i = 0; i < 1000; ++i) {
    recording.begin(i, 4096, 0, 0);
    addresses.push_back(0x10000000 + static_cast<Address>(i) * (kStretchGap + 8192));
  }
  recording.finish(1000);
  const auto stretches =
      stretches_at(recording, addresses, address_stretches(recording, addresses), recording.units() - 1);
  ASSERT_EQ(stretches.size(), 1000U);
  Appearance appearance;
  appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
  appearance.width = 800;
  appearance.height = address_map_height(stretches, appearance.text_height);
  Raster raster;
  raster.begin(appearance.width, appearance.height, appearance.theme->background);
  const AddressMapFacts facts = draw_address_map(recording, addresses, stretches, appearance, raster);
  EXPECT_EQ(facts.lines.size(), kMostAddressLines);
  EXPECT_EQ(facts.texts.back().text, "600 more address ranges are in the table");
}

}  // namespace
}  // namespace dcmt::scene
