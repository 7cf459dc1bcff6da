#include "gui/widgets/timeline.h"

#include <QDateTime>
#include <QFontMetrics>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

#include "gui/models/words.h"
#include "gui/widgets/picture.h"

namespace dcmt::gui {
namespace {

constexpr int kDragFrom = 4;  // pixels; less is a click
constexpr double kNotch = 1.25;

std::int64_t now_ms() { return QDateTime::currentMSecsSinceEpoch(); }

}  // namespace

Timeline::Timeline(QWidget* parent) : QWidget(parent), rows_(new QScrollBar(Qt::Vertical, this)) {
  setObjectName(QStringLiteral("timeline"));
  setAccessibleName(tr("Timeline"));
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setMinimumSize(320, 240);
  rows_->setAccessibleName(tr("Rows of the timeline"));
  connect(rows_, &QScrollBar::valueChanged, this, [this] {
    dirty_ = true;
    update();
  });
}

void Timeline::show_device(load::DeviceTimeline* device) {
  device_ = device;
  view_.reset();
  history_.clear();
  range_.reset();
  appearance_.selected.reset();
  appearance_.holds.clear();
  appearance_.hovered.reset();
  appearance_.point.reset();
  rows_->setValue(0);
  if (device_ != nullptr) {
    overview_.reset();
    view_.emplace(device_->recording(), scene::better_axis(device_->recording()));
    history_.add(*view_, 0);
  }
  refresh();
}

void Timeline::follow_device(load::DeviceTimeline* device) {
  const std::optional<scene::View> before = view_;
  const int rows = rows_->value();
  show_device(device);
  if (!before || device_ == nullptr) return;
  view_->set_axis(device_->recording(), before->axis());
  if (!before->whole()) view_->show(before->from(), before->to());
  history_.clear();
  history_.add(*view_, 0);
  draw();  // afterwards there are rows to scroll to
  rows_->setValue(rows);
  refresh();
}

void Timeline::show_overview(std::shared_ptr<const scene::Overview> overview, const QString& doing) {
  overview_ = std::move(overview);
  doing_ = doing;
  update();
}

void Timeline::set_selected(std::optional<scene::LifetimeId> lifetime, std::vector<scene::HoldArrow> holds) {
  appearance_.selected = lifetime;
  appearance_.holds = std::move(holds);
  refresh();
}

void Timeline::set_point(std::optional<scene::Unit> point) {
  appearance_.point = point;
  refresh();
}

void Timeline::refresh() {
  dirty_ = true;
  update();
}

void Timeline::rows_changed() {
  refresh();
  draw();
  rows_->setValue(0);
}

void Timeline::moved() {
  if (view_) history_.add(*view_, now_ms());
  refresh();
  emit view_changed();
}

double Timeline::share_at(double x) const {
  const scene::Box& chart = painter_.facts().chart;
  if (chart.width <= 0) return 0.5;
  return std::clamp((x * devicePixelRatioF() - chart.x) / chart.width, 0.0, 1.0);
}

void Timeline::zoom(double factor) {
  if (!view_) return;
  const QPoint pointer = mapFromGlobal(QCursor::pos());
  const bool inside = underMouse() && rect().contains(pointer);
  view_->zoom(factor, inside ? share_at(pointer.x()) : 0.5);
  moved();
}

void Timeline::pan(double share) {
  if (!view_) return;
  view_->pan(share);
  moved();
}

void Timeline::fit_whole() {
  if (!view_) return;
  *view_ = scene::View(device_->recording(), view_->axis());
  rows_->setValue(0);
  moved();
}

void Timeline::fit(scene::Unit from, scene::Unit to) {
  if (!view_) return;
  view_->fit(device_->recording(), from, to);
  moved();
}

void Timeline::back() {
  if (const scene::View* before = history_.back(); before != nullptr) {
    view_ = *before;
    refresh();
    emit view_changed();
  }
}

void Timeline::forward() {
  if (const scene::View* after = history_.forward(); after != nullptr) {
    view_ = *after;
    refresh();
    emit view_changed();
  }
}

void Timeline::toggle_axis() {
  if (view_) set_axis(view_->axis() == scene::Axis::kTime ? scene::Axis::kEvents : scene::Axis::kTime);
}

void Timeline::set_axis(scene::Axis axis) {
  if (!view_) return;
  view_->set_axis(device_->recording(), axis);
  moved();
}

void Timeline::show_units(scene::Unit from, scene::Unit to) {
  if (!view_) return;
  view_->show(view_->x_of(device_->recording(), from), view_->x_of(device_->recording(), to));
  moved();
}

void Timeline::clear_range() {
  range_.reset();
  refresh();
  emit range_changed();
}

void Timeline::scroll_rows(int pages) { rows_->setValue(rows_->value() + pages * rows_->pageStep()); }

void Timeline::reveal(scene::LifetimeId lifetime) {
  if (!view_) return;
  draw();
  const scene::Lifetime& of = device_->recording().lifetimes()[lifetime];
  const double from = view_->x_of(device_->recording(), of.from);
  const double to = view_->x_of(device_->recording(), of.to);
  if (to < view_->from() || from > view_->to()) {
    const double width = view_->to() - view_->from();
    const double middle = (from + std::min(to, from + width)) / 2;
    view_->show(middle - width / 2, middle + width / 2);
    moved();
  }
  const scene::Lanes& lanes = *device_->document().lanes;
  const std::uint32_t lane = lanes.lane_of(lifetime);
  if (lane == scene::kNoLane) return;
  const std::size_t band = lanes.band_of(lane);
  if (!device_->document().bands[band].open) device_->set_open(band, true);
  const int top = scene::Painter::top_of(device_->document(), appearance_, lane);
  const int room = appearance_.height - painter_.bands_top();
  if (top < rows_->value() || top + appearance_.text_height * 2 > rows_->value() + room) {
    refresh();
    draw();  // the scroll bar may have more rows now
    rows_->setValue(top - room / 3);
  }
  refresh();
}

std::optional<scene::LifetimeId> Timeline::beside(std::optional<scene::LifetimeId> from, int right, int down) const {
  if (device_ == nullptr) return std::nullopt;
  const scene::Document& document = device_->document();
  const scene::Lanes& lanes = *document.lanes;
  if (!from || lanes.lane_of(*from) == scene::kNoLane) {
    if (painter_.facts().bars.empty()) return std::nullopt;
    return painter_.facts().bars.front().lifetime;
  }
  if (right != 0) return lanes.neighbour(*from, right > 0);
  // The next lane with lifetimes in an open band.
  const scene::Unit unit = device_->recording().lifetimes()[*from].from;
  std::int64_t lane = lanes.lane_of(*from);
  while ((lane += down) >= 0 && lane < lanes.size()) {
    const auto of = static_cast<std::uint32_t>(lane);
    if (document.bands[lanes.band_of(of)].open) return lanes.nearest(of, unit);
  }
  return std::nullopt;
}

scene::Unit Timeline::unit_at_pointer() const {
  if (!view_) return 0;
  const QPoint pointer = mapFromGlobal(QCursor::pos());
  const double share = underMouse() && rect().contains(pointer) ? share_at(pointer.x()) : 0.5;
  return view_->unit_of(device_->recording(), view_->from() + share * (view_->to() - view_->from()));
}

const scene::Facts& Timeline::facts() {
  draw();
  return painter_.facts();
}

void Timeline::measure(const QFontMetrics& metrics) {
  const double ratio = devicePixelRatioF();
  appearance_.width = std::max(1, static_cast<int>((width() - rows_->sizeHint().width()) * ratio));
  appearance_.height = std::max(1, static_cast<int>(height() * ratio));
  appearance_.text_height = metrics.height();
  appearance_.theme = &theme_of(palette());
  appearance_.text_width = [&metrics](std::string_view text) { return metrics.horizontalAdvance(words::text(text)); };
}

void Timeline::draw() {
  if (!dirty_ || device_ == nullptr) return;
  dirty_ = false;
  const QFontMetrics metrics(display_font(*this));
  measure(metrics);
  appearance_.scroll = rows_->value();
  appearance_.range = range_;
  raster_.begin(appearance_.width, appearance_.height, appearance_.theme->background);
  painter_.draw(device_->document(), *view_, appearance_, raster_);
  const int room = appearance_.height - painter_.bands_top();
  const QSignalBlocker blocker(rows_);
  rows_->setRange(0, std::max(0, painter_.facts().content - room));
  rows_->setPageStep(std::max(1, room));
  rows_->setSingleStep(appearance_.text_height);
}

void Timeline::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  if (device_ == nullptr && overview_ == nullptr) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, tr("Open a trace: Ctrl+O, or drop one here."));
    return;
  }
  if (device_ == nullptr) {
    const QFontMetrics metrics(display_font(*this));
    measure(metrics);
    raster_.begin(appearance_.width, appearance_.height, appearance_.theme->background);
    scene::draw_overview(*overview_, appearance_, doing_.toStdString(), raster_);
  } else {
    draw();
  }
  if (!std::exchange(painted_, true)) emit first_painted();
  paint_with_focus(painter, raster_, *this);
}

void Timeline::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  const int bar = rows_->sizeHint().width();
  rows_->setGeometry(width() - bar, 0, bar, height());
  refresh();
}

void Timeline::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) refresh();
  QWidget::changeEvent(event);
}

QPoint Timeline::device_point(const QPointF& at) const {
  return {static_cast<int>(at.x() * devicePixelRatioF()), static_cast<int>(at.y() * devicePixelRatioF())};
}

void Timeline::mousePressEvent(QMouseEvent* event) {
  if (device_ == nullptr) return;
  pressed_at_ = last_at_ = event->position();
  dragged_ = false;
  const bool pan = event->button() == Qt::MiddleButton ||
                   (event->button() == Qt::LeftButton && event->modifiers().testFlag(Qt::ShiftModifier));
  drag_ = pan ? Drag::kPan : event->button() == Qt::LeftButton ? Drag::kRange : Drag::kNone;
}

void Timeline::mouseMoveEvent(QMouseEvent* event) {
  if (device_ == nullptr) return;
  const QPointF at = event->position();
  if (drag_ == Drag::kNone) {
    const auto hit = painter_.hit(device_->document(), device_point(at).x(), device_point(at).y());
    const auto lifetime = hit ? std::optional(hit->lifetime) : std::nullopt;
    if (lifetime != appearance_.hovered) {
      appearance_.hovered = lifetime;
      refresh();
    }
    emit hovered(text_at(device_point(at)));
    return;
  }
  dragged_ = dragged_ || std::abs(at.x() - pressed_at_.x()) >= kDragFrom;
  if (drag_ == Drag::kPan) {
    const double width = painter_.facts().chart.width / devicePixelRatioF();
    if (width > 0) view_->pan((last_at_.x() - at.x()) / width);
    rows_->setValue(rows_->value() + static_cast<int>((last_at_.y() - at.y()) * devicePixelRatioF()));
    moved();
  } else if (dragged_) {
    const auto unit = [&](double x) {
      return view_->unit_of(device_->recording(), view_->from() + share_at(x) * (view_->to() - view_->from()));
    };
    range_ = std::minmax(unit(pressed_at_.x()), unit(at.x()));
    refresh();
    emit range_changed();
  }
  last_at_ = at;
}

void Timeline::mouseReleaseEvent(QMouseEvent* event) {
  const Drag drag = std::exchange(drag_, Drag::kNone);
  if (device_ == nullptr || drag != Drag::kRange || dragged_) return;
  const QPoint at = device_point(event->position());
  const scene::Row* row = painter_.row_at(at.y());
  if (row != nullptr && row->what == scene::Row::What::kBand) {
    device_->set_open(row->index, !device_->document().bands[row->index].open);
    refresh();
    return;
  }
  if (row != nullptr && row->what == scene::Row::What::kLane) {
    const auto hit = painter_.hit(device_->document(), at.x(), at.y());
    emit picked(hit ? std::optional(hit->lifetime) : std::nullopt);
    return;
  }
  const double x = view_->from() + share_at(event->position().x()) * (view_->to() - view_->from());
  scene::Unit unit = view_->unit_of(device_->recording(), x);
  // On the curve, the point of a column is its highest unit.
  const int column = at.x() - painter_.facts().chart.x;
  const auto& curve = painter_.facts().curve;
  if (column >= 0 && column < static_cast<int>(curve.size())) unit = curve[static_cast<std::size_t>(column)].highest_at;
  emit point_picked(unit);
}

void Timeline::mouseDoubleClickEvent(QMouseEvent* event) {
  if (device_ == nullptr) return;
  const QPoint at = device_point(event->position());
  if (const auto hit = painter_.hit(device_->document(), at.x(), at.y())) {
    const scene::Lifetime& of = device_->recording().lifetimes()[hit->lifetime];
    fit(of.from, of.to);
  }
}

void Timeline::wheelEvent(QWheelEvent* event) {
  if (!view_) return;
  const QPoint delta = event->angleDelta();
  const double notches = (delta.y() != 0 ? delta.y() : delta.x()) / 120.0;
  if (event->modifiers().testFlag(Qt::ControlModifier)) {
    view_->zoom(std::pow(kNotch, notches), share_at(event->position().x()));
    moved();
  } else if (event->modifiers().testFlag(Qt::ShiftModifier) || delta.x() != 0) {
    pan(-0.1 * notches);
  } else {
    rows_->setValue(rows_->value() - static_cast<int>(notches * appearance_.text_height * 3));
  }
  event->accept();
}

void Timeline::leaveEvent(QEvent* event) {
  QWidget::leaveEvent(event);
  appearance_.hovered.reset();
  refresh();
  emit hovered({});
}

QString Timeline::text_at(const QPoint& at) const {
  const scene::Facts& facts = painter_.facts();
  const int column = at.x() - facts.chart.x;
  if (column < 0 || column >= static_cast<int>(facts.curve.size())) return {};
  if (const auto hit = painter_.hit(device_->document(), at.x(), at.y())) {
    std::string label;
    device_->document().label(hit->lifetime, label);
    const scene::Lifetime& of = device_->recording().lifetimes()[hit->lifetime];
    QString text = words::exact_bytes(of.bytes) + QStringLiteral(" · ") + words::text(label);
    if (hit->more > 0) text += tr(" and %1 more").arg(hit->more);
    return text;
  }
  if (const scene::Row* row = painter_.row_at(at.y()); row != nullptr && row->what == scene::Row::What::kSpans) {
    const double x = view_->from() + (column + 0.5) / facts.chart.width * (view_->to() - view_->from());
    for (const scene::SpanRow::Span& span : facts.spans[row->index]) {
      if (x < span.from || x > span.to) continue;
      std::string label;
      device_->document().spans[row->index].label(span.index, label);
      return words::text(label);
    }
    return {};
  } else if (row != nullptr && row->what == scene::Row::What::kPoints) {
    const auto kind = facts.points[row->index][static_cast<std::size_t>(column)];
    return kind > 0 ? words::text(device_->document().points[row->index].kinds[kind - 1U].name) : QString();
  } else if (row != nullptr && row->what == scene::Row::What::kLost) {
    const scene::Column& here = facts.columns[static_cast<std::size_t>(column)];
    for (const scene::Named& lost : device_->document().lost) {
      if (lost.from < here.to && here.from < lost.to) return words::text(lost.name);
    }
    return {};
  }
  const scene::CurveColumn& highest = facts.curve[static_cast<std::size_t>(column)];
  const std::int64_t ns = device_->recording().ns(highest.highest_at) - device_->recording().begin_ns();
  const std::int64_t reserved = facts.reserved.empty() ? -1 : facts.reserved[static_cast<std::size_t>(column)];
  return words::exact_bytes(highest.highest) + tr(" allocated") +
         (reserved >= 0 ? tr(" · at most %1 reserved").arg(words::exact_bytes(reserved)) : QString()) +
         tr(" · %1 after the start · seq %2").arg(words::time(ns)).arg(device_->sequence_of(highest.highest_at).value);
}

bool Timeline::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && device_ != nullptr) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString text = text_at(device_point(help->pos()));
    // Text of a trace is data, even if it contains HTML.
    text.isEmpty() ? QToolTip::hideText() : QToolTip::showText(help->globalPos(), text.toHtmlEscaped(), this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace dcmt::gui
