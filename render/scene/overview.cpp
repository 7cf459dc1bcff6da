#include "render/scene/overview.h"

#include <algorithm>
#include <cmath>

#include "render/scene/raster.h"
#include "trace/base/quantities.h"

namespace dcmt::scene {

void draw_overview(const Overview& overview, const Appearance& appearance, std::string_view text, Canvas& canvas) {
  const Theme& theme = *appearance.theme;
  const int line = appearance.text_height;
  const int left = std::min(line * 14, appearance.width / 3);
  const int width = std::max(1, appearance.width - left);
  const int top = line * 5;
  const int base = std::max(top + line, appearance.height * 36 / 100 + line * 3);
  canvas.text({left + 6, line, appearance.text_width(text), line}, text, theme.faint);
  if (overview.stretches.empty()) return;
  const std::string peak = rounded_bytes(overview.peak);
  const int needed = appearance.text_width(peak);
  canvas.text({left - needed - 6, top - line / 2, needed, line}, peak, theme.faint);

  const double begin = static_cast<double>(overview.stretches.front().from_ns);
  const double length = std::max(1.0, static_cast<double>(overview.stretches.back().to_ns) - begin);
  std::vector<int> tops(static_cast<std::size_t>(width), base);
  const std::vector<int> bottoms(static_cast<std::size_t>(width), base);
  for (const Overview::Stretch& stretch : overview.stretches) {
    const auto column = [&](std::int64_t ns) { return (static_cast<double>(ns) - begin) / length * width; };
    const int from = std::clamp(static_cast<int>(column(stretch.from_ns)), 0, width - 1);
    const int to = std::clamp(static_cast<int>(std::ceil(column(stretch.to_ns))), from + 1, width);
    const double share =
        static_cast<double>(stretch.highest) / static_cast<double>(std::max<std::int64_t>(1, overview.peak));
    const int y = base - static_cast<int>(std::lround(share * (base - top)));
    for (int i = from; i < to; ++i) tops[static_cast<std::size_t>(i)] = std::min(tops[static_cast<std::size_t>(i)], y);
  }
  canvas.area(left, tops, bottoms, mixed(theme.groups.back(), theme.background, 0.3), false);
}

}  // namespace dcmt::scene
