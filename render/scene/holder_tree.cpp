#include "render/scene/holder_tree.h"

#include <algorithm>
#include <utility>

#include "render/scene/raster.h"

namespace dcmt::scene {
namespace {

class TreePainter {
 public:
  TreePainter(const Appearance& appearance, Canvas* canvas)
      : appearance_(appearance), canvas_(canvas), row_(appearance.text_height + 8) {}

  HolderTreeFacts draw(const std::vector<HolderNode>& roots) {
    for (const HolderNode& root : roots) measure(root, 0);
    int x = kMargin;
    for (const int width : widths_) {
      columns_.push_back(x);
      x += width + kGap;
    }
    facts_.width = std::max(0, x - kGap + kMargin);
    int y = kMargin;
    for (const HolderNode& root : roots) place(root, 0, y, nullptr);
    facts_.height = y + kMargin;
    return std::move(facts_);
  }

 private:
  static constexpr int kMargin = 6, kGap = 36, kPad = 6;

  [[nodiscard]] int width_of(const HolderNode& node) const {
    const int note = node.note.empty() ? 0 : appearance_.text_width(node.note) + 2 * kPad;
    return appearance_.text_width(node.text) + 2 * kPad + note;
  }

  void measure(const HolderNode& node, std::size_t depth) {
    if (widths_.size() <= depth) widths_.push_back(0);
    widths_[depth] = std::max(widths_[depth], width_of(node));
    for (const HolderNode& each : node.held) measure(each, depth + 1);
  }

  /// Needs one row per leaf; on return, `y` is after them.
  void place(const HolderNode& node, std::size_t depth, int& y, const Box* holder) {
    const Theme& theme = *appearance_.theme;
    const Box box{columns_[depth], y + 1, width_of(node), row_ - 4};
    if (holder != nullptr) arrow(*holder, box);
    if (canvas_ != nullptr) {
      canvas_->fill(box, mixed(node.strong ? theme.finding : theme.groups[0], theme.background, 0.75));
      canvas_->fill({box.x, box.y, 3, box.height}, node.strong ? theme.finding : theme.groups[0]);
    }
    const int text_y = box.y + (box.height - appearance_.text_height) / 2;
    int x = box.x + kPad;
    text({x, text_y, appearance_.text_width(node.text), appearance_.text_height}, node.text, theme.text);
    x += appearance_.text_width(node.text) + 2 * kPad;
    if (!node.note.empty())
      text({x, text_y, appearance_.text_width(node.note), appearance_.text_height}, node.note, theme.faint);
    if (node.held.empty()) {
      y += row_;
      return;
    }
    for (const HolderNode& each : node.held) place(each, depth + 1, y, &box);
  }

  void text(const Box& box, const std::string& text, Color color) {
    facts_.texts.push_back({box, text});
    if (canvas_ != nullptr) canvas_->text(box, text, color);
  }

  /// Draws two lines with a right angle. The head points at the held node.
  void arrow(const Box& from, const Box& to) {
    facts_.arrows.push_back({from, to});
    if (canvas_ == nullptr) return;
    const Color color = appearance_.theme->faint;
    const int start = from.x + from.width;
    const int y0 = from.y + from.height / 2;
    const int y1 = to.y + to.height / 2;
    const int bend = to.x - kGap / 2;
    canvas_->fill({start, y0, bend - start + 1, 1}, color);
    canvas_->fill({bend, std::min(y0, y1), 1, std::abs(y1 - y0) + 1}, color);
    canvas_->fill({bend, y1, to.x - bend, 1}, color);
    for (int i = 0; i < 4; ++i) canvas_->fill({to.x - 2 - i, y1 - i, 1, 2 * i + 1}, color);
  }

  const Appearance& appearance_;
  Canvas* canvas_;
  int row_;
  std::vector<int> widths_, columns_;
  HolderTreeFacts facts_;
};

}  // namespace

HolderTreeFacts draw_holder_tree(const std::vector<HolderNode>& roots, const Appearance& appearance, Canvas* canvas) {
  return TreePainter(appearance, canvas).draw(roots);
}

}  // namespace dcmt::scene
