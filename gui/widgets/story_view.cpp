#include "gui/widgets/story_view.h"

#include <QEvent>
#include <QFontMetrics>
#include <QPainter>

#include <algorithm>
#include <cmath>

#include "gui/models/words.h"
#include "gui/widgets/picture.h"

namespace dcmt::gui {

StoryView::StoryView(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Story on one axis"));
  setFocusPolicy(Qt::StrongFocus);
}

void StoryView::show_story(scene::StoryChart story) {
  story_ = std::move(story);
  at_.reset();
  QString spoken;
  for (const scene::StoryChart::Arrow& arrow : story_.arrows) {
    spoken +=
        tr("%1 holds %2; ").arg(words::text(story_.bars[arrow.holder].name), words::text(story_.bars[arrow.held].name));
  }
  for (const scene::StoryChart::Point& point : story_.points) spoken += words::text(point.text) + QStringLiteral("; ");
  setAccessibleDescription(spoken);
  fit();
  update();
}

void StoryView::set_point(std::optional<double> at) {
  at_ = at;
  update();
}

void StoryView::fit() {
  const QFontMetrics metrics(display_font(*this));
  const double ratio = devicePixelRatioF();
  setMinimumHeight(static_cast<int>(std::ceil(scene::story_chart_height(story_, metrics.height()) / ratio)));
}

void StoryView::draw() {
  const QFontMetrics metrics(display_font(*this));
  const scene::Appearance appearance = appearance_of(*this, metrics);
  raster_.begin(appearance.width, appearance.height, appearance.theme->background);
  facts_ = scene::StoryChartFacts{};
  if (!story_.bars.empty()) facts_ = scene::draw_story_chart(story_, appearance, at_, raster_);
}

const scene::StoryChartFacts& StoryView::facts() {
  draw();
  return facts_;
}

void StoryView::paintEvent(QPaintEvent* /*event*/) {
  draw();
  QPainter painter(this);
  paint_picture(painter, raster_, display_font(*this), devicePixelRatioF());
}

void StoryView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange) fit();
  if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange) update();
  QWidget::changeEvent(event);
}

}  // namespace dcmt::gui
