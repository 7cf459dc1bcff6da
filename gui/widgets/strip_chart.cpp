#include "gui/widgets/strip_chart.h"

#include <QFontMetrics>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>

#include "gui/models/words.h"
#include "gui/widgets/picture.h"

namespace dcmt::gui {

StripChart::StripChart(const QString& name, QWidget* parent) : QWidget(parent) {
  setAccessibleName(name);
  setFocusPolicy(Qt::StrongFocus);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void StripChart::show_strips(const scene::Strips* strips) {
  strips_ = strips;
  current_.reset();
  at_.reset();
  QString spoken;
  if (strips_ != nullptr) {
    for (const scene::Strip& strip : strips_->strips) {
      spoken += words::text(strip.name) + QStringLiteral(": ") + words::text(strip.note) + QStringLiteral("; ");
    }
  }
  setAccessibleDescription(spoken);
  updateGeometry();
  update();
}

void StripChart::set_point(std::optional<double> at) {
  at_ = at;
  update();
}

void StripChart::set_current(std::optional<std::size_t> strip) {
  current_ = strip;
  update();
}

QSize StripChart::sizeHint() const {
  const std::size_t count = strips_ != nullptr ? strips_->strips.size() : 0;
  const QFontMetrics metrics(display_font(*this));
  return {600, static_cast<int>(scene::strips_height(count, metrics.height()) / devicePixelRatioF()) + 1};
}

QSize StripChart::minimumSizeHint() const { return {240, sizeHint().height()}; }

void StripChart::draw() {
  if (strips_ == nullptr) return;
  const QFontMetrics metrics(display_font(*this));
  const scene::Appearance appearance = appearance_of(*this, metrics);
  raster_.begin(appearance.width, appearance.height, appearance.theme->background);
  facts_ = scene::draw_strips(*strips_, appearance, at_, current_, raster_);
}

const scene::StripFacts& StripChart::facts() {
  draw();
  return facts_;
}

void StripChart::paintEvent(QPaintEvent* /*event*/) {
  if (strips_ == nullptr) return;
  draw();
  QPainter painter(this);
  paint_with_focus(painter, raster_, *this);
}

void StripChart::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange) updateGeometry();
  if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange) update();
  QWidget::changeEvent(event);
}

std::optional<std::size_t> StripChart::strip_at(double y) const {
  const int at = static_cast<int>(y * devicePixelRatioF());
  const auto found =
      std::ranges::find_if(facts_.rows, [at](const scene::Box& row) { return at >= row.y && at < row.y + row.height; });
  if (found == facts_.rows.end()) return std::nullopt;
  return static_cast<std::size_t>(found - facts_.rows.begin());
}

void StripChart::mousePressEvent(QMouseEvent* event) {
  if (const auto strip = strip_at(event->position().y())) emit picked(*strip);
}

void StripChart::keyPressEvent(QKeyEvent* event) {
  const bool up = event->key() == Qt::Key_Up;
  const bool down = event->key() == Qt::Key_Down;
  if (strips_ == nullptr || strips_->strips.empty() || (!up && !down)) {
    QWidget::keyPressEvent(event);
    return;
  }
  const std::size_t at = current_.value_or(0);
  if (down && at + 1 < strips_->strips.size()) emit picked(at + 1);
  if (up && at > 0) emit picked(at - 1);
}

bool StripChart::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && strips_ != nullptr) {
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const auto strip = strip_at(help->pos().y())) {
      const scene::Strip& of = strips_->strips[*strip];
      const int column = static_cast<int>(help->pos().x() * devicePixelRatioF()) - facts_.chart.x;
      QString text = words::text(of.name) + QLatin1Char('\n') + words::text(of.note);
      if (column >= 0 && column < facts_.chart.width)
        text += QLatin1Char('\n') + words::exact_bytes(facts_.columns[*strip][static_cast<std::size_t>(column)]);
      QToolTip::showText(help->globalPos(), text.toHtmlEscaped().replace(QLatin1Char('\n'), QStringLiteral("<br>")),
                         this);
    }
    return true;
  }
  return QWidget::event(event);
}

}  // namespace dcmt::gui
