#include "render/scene/flame.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "render/scene/raster.h"
#include "trace/base/quantities.h"

namespace dcmt::scene {
namespace {

constexpr int kTextSize = 11;
constexpr int kRow = 17;
constexpr int kLeastWidth = 2;  // narrower frames are merged with their narrow neighbours

class FlamePicture {
 public:
  FlamePicture(const Flame& whole, int width, int deepest, const Theme& theme)
      : whole_(whole),
        theme_(theme),
        width_(width),
        least_(whole.bytes / std::max(kLeastWidth, width) * kLeastWidth),
        deepest_(depth_of(whole, deepest)),
        svg_(width, deepest_ * kRow, kTextSize, "flame") {}

  std::string draw() {
    add(whole_, 0, 0);
    return svg_.element("bytes by the stacks that allocated them");
  }

 private:
  /// The number of inner frames, which are sorted by bytes, that get a box of their own.
  [[nodiscard]] std::size_t wide(const Flame& flame) const {
    const auto end = std::ranges::find_if(flame.inner, [this](const Flame& each) { return each.bytes < least_; });
    return static_cast<std::size_t>(end - flame.inner.begin());
  }

  [[nodiscard]] int depth_of(const Flame& flame, int deepest) const {
    int depth = flame.inner.empty() || deepest <= 1 ? 0 : 1;
    for (std::size_t i = 0, own = wide(flame); i < own && deepest > 1; ++i)
      depth = std::max(depth, depth_of(flame.inner[i], deepest - 1));
    return depth + 1;
  }

  void add(const Flame& flame, std::int64_t before, int depth) {
    if (depth >= deepest_) return;
    const Color color = depth == 0 ? theme_.panel
                                   : mixed(theme_.groups[std::hash<std::string_view>{}(flame.name) % (kGroups - 1)],
                                           theme_.background, 0.45);
    box(flame.name, before, flame.bytes, depth, color);
    const std::size_t own = wide(flame);
    for (std::size_t i = 0; i < own; ++i) {
      add(flame.inner[i], before, depth + 1);
      before += flame.inner[i].bytes;
    }
    std::int64_t rest = 0;
    for (std::size_t i = own; i < flame.inner.size(); ++i) rest += flame.inner[i].bytes;
    if (own == flame.inner.size() || depth + 1 >= deepest_) return;
    const std::size_t more = flame.inner.size() - own;
    box(more == 1 ? flame.inner.back().name : std::to_string(more) + " others", before, rest, depth + 1, theme_.panel);
  }

  void box(const std::string& name, std::int64_t before, std::int64_t of, int depth, Color color) {
    const double share = static_cast<double>(width_) / static_cast<double>(std::max<std::int64_t>(1, whole_.bytes));
    const int x = static_cast<int>(static_cast<double>(before) * share);
    const int end = static_cast<int>(static_cast<double>(before + of) * share);
    if (end - x < 1) return;
    const std::string title = name + "   " + rounded_bytes(of);
    svg_.fill_titled({x, depth * kRow, std::max(1, end - x - 1), kRow - 1}, color, title);
    // As many characters as fit. A short part of a name is useless, so there must be at least a few.
    const int room = (end - x - 8) * 100 / (kTextSize * 62);
    if (room < 8) return;
    std::string shown = title;
    std::size_t most = static_cast<std::size_t>(room);
    if (Svg::text_width(shown, kTextSize) > end - x - 8) {
      while (most > 0 && (static_cast<unsigned char>(shown[std::min(most, shown.size() - 1)]) & 0xc0U) == 0x80U) --most;
      shown = shown.substr(0, most) + "…";
    }
    svg_.text({x + 4, depth * kRow, end - x - 8, kRow - 1}, shown, theme_.text);
  }

  const Flame& whole_;
  const Theme& theme_;
  int width_;
  std::int64_t least_;  ///< bytes from which on a frame gets a box of its own
  int deepest_;
  Svg svg_;
};

}  // namespace

std::string flame_svg(const Flame& flame, int width, int deepest, const Theme& theme) {
  return FlamePicture(flame, width, deepest, theme).draw();
}

}  // namespace dcmt::scene
