#include "gui/scene/flame.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "gui/scene/bytes_text.h"
#include "gui/scene/raster.h"

namespace dcmt::gui::scene {
namespace {

constexpr int kTextSize = 11;
constexpr int kRow = 17;

int depth_of(const Flame& flame, int deepest) {
  int depth = 0;
  for (const Flame& inner : flame.inner) depth = deepest > 1 ? std::max(depth, depth_of(inner, deepest - 1)) : depth;
  return depth + 1;
}

class FlamePicture {
 public:
  FlamePicture(const Flame& whole, int width, int deepest, const Theme& theme)
      : whole_(whole),
        theme_(theme),
        width_(width),
        deepest_(depth_of(whole, deepest)),
        svg_(width, deepest_ * kRow, kTextSize, "flame") {}

  std::string draw() {
    add(whole_, 0, 0);
    return svg_.element("bytes by the stacks that allocated them");
  }

 private:
  void add(const Flame& flame, std::int64_t before, int depth) {
    const double share = static_cast<double>(width_) / static_cast<double>(std::max<std::int64_t>(1, whole_.bytes));
    const int x = static_cast<int>(static_cast<double>(before) * share);
    const int end = static_cast<int>(static_cast<double>(before + flame.bytes) * share);
    if (end - x < 1 || depth >= deepest_) return;
    std::string bytes;
    write_bytes(flame.bytes, bytes);
    const std::string title = flame.name + "   " + bytes;
    const Color color = depth == 0 ? theme_.panel
                                   : mixed(theme_.groups[std::hash<std::string_view>{}(flame.name) % (kGroups - 1)],
                                           theme_.background, 0.45);
    svg_.fill_titled({x, depth * kRow, std::max(1, end - x - 1), kRow - 1}, color, title);
    // As many letters as fit; a part of a name says less than nothing, so the begin of it has to be more than a few.
    const int room = (end - x - 8) * 100 / (kTextSize * 62);
    if (room >= 8) {
      std::string shown = title;
      std::size_t most = static_cast<std::size_t>(room);
      if (Svg::text_width(shown, kTextSize) > end - x - 8) {
        while (most > 0 && (static_cast<unsigned char>(shown[std::min(most, shown.size() - 1)]) & 0xc0U) == 0x80U)
          --most;
        shown = shown.substr(0, most) + "…";
      }
      svg_.text({x + 4, depth * kRow, end - x - 8, kRow - 1}, shown, theme_.text);
    }
    for (const Flame& inner : flame.inner) {
      add(inner, before, depth + 1);
      before += inner.bytes;
    }
  }

  const Flame& whole_;
  const Theme& theme_;
  int width_, deepest_;
  Svg svg_;
};

}  // namespace

std::string flame_svg(const Flame& flame, int width, int deepest, const Theme& theme) {
  return FlamePicture(flame, width, deepest, theme).draw();
}

}  // namespace dcmt::gui::scene
