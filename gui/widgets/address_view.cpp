#include "gui/widgets/address_view.h"

#include <QFontMetrics>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

#include "gui/models/words.h"
#include "gui/widgets/picture.h"

namespace dcmt::gui {

AddressView::AddressView(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Map of addresses"));
  setFocusPolicy(Qt::StrongFocus);
}

void AddressView::show_stretches(const load::DeviceTimeline* device, std::vector<scene::StretchAt> stretches) {
  device_ = device;
  stretches_ = std::move(stretches);
  selected_.reset();
  facts_ = {};
  QString spoken;
  for (const scene::Occupied* each : scene::occupied(stretches_)) {
    spoken += tr("%1: %2 of %3 in %4 blocks; ")
                  .arg(words::text(scene::address_text(each->addresses.from)), words::exact_bytes(each->used),
                       words::exact_bytes(each->addresses.bytes()))
                  .arg(each->live.size());
  }
  setAccessibleDescription(spoken);
  fit();
  update();
}

void AddressView::set_selected(std::optional<scene::LifetimeId> lifetime) {
  selected_ = lifetime;
  update();
}

void AddressView::fit() {
  const QFontMetrics metrics(display_font(*this));
  setMinimumHeight(
      static_cast<int>(std::ceil(scene::address_map_height(stretches_, metrics.height()) / devicePixelRatioF())));
}

void AddressView::draw() {
  const QFontMetrics metrics(display_font(*this));
  scene::Appearance appearance = appearance_of(*this, metrics);
  appearance.selected = selected_;
  raster_.begin(appearance.width, appearance.height, appearance.theme->background);
  facts_ = {};
  if (device_ == nullptr || stretches_.empty()) return;
  facts_ =
      scene::draw_address_map(device_->recording(), device_->addresses()->addresses, stretches_, appearance, raster_);
}

const scene::AddressMapFacts& AddressView::facts() {
  draw();
  return facts_;
}

void AddressView::paintEvent(QPaintEvent* /*event*/) {
  draw();
  QPainter painter(this);
  paint_with_focus(painter, raster_, *this);
}

void AddressView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange) fit();
  if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange) update();
  QWidget::changeEvent(event);
}

std::optional<scene::LifetimeId> AddressView::block_at(const QPointF& at) const {
  const double ratio = devicePixelRatioF();
  return scene::hit(facts_, static_cast<int>(at.x() * ratio), static_cast<int>(at.y() * ratio));
}

void AddressView::mousePressEvent(QMouseEvent* event) {
  setFocus(Qt::MouseFocusReason);
  if (const auto block = block_at(event->position())) emit picked(*block);
}

void AddressView::keyPressEvent(QKeyEvent* event) {
  const bool left = event->key() == Qt::Key_Left;
  if (!left && event->key() != Qt::Key_Right) {
    QWidget::keyPressEvent(event);
    return;
  }
  std::vector<scene::LifetimeId> all;
  for (const scene::StretchAt& each : stretches_) all.insert(all.end(), each.live.begin(), each.live.end());
  if (all.empty()) return;
  const auto at = selected_ ? std::ranges::find(all, *selected_) : all.end();
  if (at == all.end()) {
    emit picked(left ? all.back() : all.front());
  } else if (left && at != all.begin()) {
    emit picked(*(at - 1));
  } else if (!left && at + 1 != all.end()) {
    emit picked(*(at + 1));
  }
}

bool AddressView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || device_ == nullptr) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  if (const auto block = block_at(help->pos())) {
    std::string label;
    device_->document().label(*block, label);
    const QString text = words::text(scene::address_text(device_->addresses()->addresses[*block])) +
                         QStringLiteral(" · ") + words::exact_bytes(device_->recording().lifetimes()[*block].bytes) +
                         QStringLiteral(" · ") + words::text(label);
    QToolTip::showText(help->globalPos(), text.toHtmlEscaped(), this);
  } else {
    QToolTip::hideText();
  }
  return true;
}

}  // namespace dcmt::gui
