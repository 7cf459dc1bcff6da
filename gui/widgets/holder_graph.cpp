#include "gui/widgets/holder_graph.h"

#include <QEvent>
#include <QFontMetrics>
#include <QPainter>

#include <algorithm>
#include <cmath>

#include "gui/models/words.h"
#include "gui/widgets/picture.h"

namespace dcmt::gui {
namespace {

QString spoken(const std::vector<scene::HolderNode>& nodes, int depth) {
  QString all;
  for (const scene::HolderNode& node : nodes) {
    all += QString(2 * depth, QLatin1Char(' ')) + words::text(node.text) + QLatin1Char(' ') + words::text(node.note) +
           QLatin1Char('\n') + spoken(node.held, depth + 1);
  }
  return all;
}

}  // namespace

HolderGraph::HolderGraph(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Graph of holders"));
  setFocusPolicy(Qt::StrongFocus);
}

void HolderGraph::show_roots(std::vector<scene::HolderNode> roots) {
  roots_ = std::move(roots);
  setAccessibleDescription(spoken(roots_, 0));
  fit();
  update();
}

/// Resizes the widget to the picture, so that the surrounding area scrolls.
void HolderGraph::fit() {
  draw(false);
  const double ratio = devicePixelRatioF();
  setMinimumSize(static_cast<int>(std::ceil(facts_.width / ratio)), static_cast<int>(std::ceil(facts_.height / ratio)));
}

void HolderGraph::draw(bool pixels) {
  const QFontMetrics metrics(display_font(*this));
  const scene::Appearance appearance = appearance_of(*this, metrics);
  if (pixels) raster_.begin(appearance.width, appearance.height, appearance.theme->background);
  facts_ = scene::draw_holder_tree(roots_, appearance, pixels ? &raster_ : nullptr);
}

const scene::HolderTreeFacts& HolderGraph::facts() {
  draw(false);
  return facts_;
}

void HolderGraph::paintEvent(QPaintEvent* /*event*/) {
  draw(true);
  QPainter painter(this);
  paint_picture(painter, raster_, display_font(*this), devicePixelRatioF());
}

void HolderGraph::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange) fit();
  if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange) update();
  QWidget::changeEvent(event);
}

}  // namespace dcmt::gui
