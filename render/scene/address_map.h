// The addresses of blocks at one point: stretches of addresses with their blocks, and the gaps between them. If
// segments are known, each has a frame, and addresses outside of segments are empty.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "render/scene/addresses.h"
#include "render/scene/frame.h"

namespace dcmt::scene {

/// The maximum of lines in a picture. Stretches that do not fit are named in the last one.
inline constexpr std::size_t kMostAddressLines = 400;

struct AddressMapFacts {
  struct Line {
    Box box;                  ///< of the stretch's addresses
    std::size_t stretch = 0;  ///< index
    AddressStretch addresses;
  };
  Box chart;
  std::vector<Line> lines;
  std::vector<BarOf> bars;    ///< of blocks, one for each of their lines
  std::vector<Box> segments;  ///< frames of segments, one for each of their lines
  std::vector<TextOf> texts;
  std::int64_t bytes_of_line = 0;  ///< bytes that a full line stands for
  int height = 0;
};

[[nodiscard]] int address_map_height(std::span<const StretchAt> stretches, int text_height);

AddressMapFacts draw_address_map(const Recording& recording, std::span<const Address> addresses,
                                 std::span<const StretchAt> stretches, const Appearance& appearance, Canvas& canvas);

/// The block at that pixel.
[[nodiscard]] std::optional<LifetimeId> hit(const AddressMapFacts& facts, int x, int y);

}  // namespace dcmt::scene
