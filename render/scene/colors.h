// Colors of the timeline. People with colour blindness can distinguish those of groups (Okabe and Ito).
#pragma once

#include <array>

#include "render/scene/canvas.h"
#include "render/scene/recording.h"

namespace dcmt::scene {

struct Theme {
  Color background, panel, text, faint, grid, finding, dead, what_if, reserved, selected, point, sums_only, step,
      step_other;
  std::array<Color, kGroups> groups;
};

inline constexpr Theme kLight{
    0xffffff, 0xf3f4f6, 0x1c1f24,
    0x6b7280, 0xe2e5ea, 0xd55e00,
    0x7a2f00, 0x111827, 0x4b5563,
    0x111827, 0xc0187c, 0xd9dce1,
    0xdbe7f3, 0xc3d6e8, {0x0072b2, 0xe69f00, 0x009e73, 0x56b4e9, 0xcc79a7, 0xb8ad2e, 0x8b6fc0, 0xa3a9b3}};
inline constexpr Theme kDark{
    0x17191d, 0x1f2227, 0xe6e8eb,
    0x9aa2ad, 0x2e333a, 0xff8a3d,
    0xffc9a3, 0xf3f4f6, 0xaeb6c1,
    0xffffff, 0xff6ec7, 0x3a3f47,
    0x2b3a4a, 0x35485c, {0x3d9bd6, 0xe6ad33, 0x2fb58f, 0x7cc7ef, 0xd695ba, 0xcfc54a, 0xa58fd6, 0x767d88}};

}  // namespace dcmt::scene
