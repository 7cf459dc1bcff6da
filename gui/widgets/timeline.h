// The timeline: a picture of the scene with its input. It does not use the analyzer. Signals report what is selected.
#pragma once

#include <QImage>
#include <QScrollBar>
#include <QWidget>

#include <memory>
#include <optional>

#include "render/load/session.h"
#include "render/scene/frame.h"
#include "render/scene/overview.h"
#include "render/scene/raster.h"
#include "render/scene/view.h"
#include "render/scene/view_history.h"

namespace dcmt::gui {

class Timeline : public QWidget {
  Q_OBJECT

 public:
  explicit Timeline(QWidget* parent = nullptr);

  /// nullptr: nothing is shown. The session must outlive this widget or be replaced first.
  void show_device(load::DeviceTimeline* device);
  /// Shows a new load of the same trace, which may have grown. The visible range stays; the whole run stays the whole
  /// run.
  void follow_device(load::DeviceTimeline* device);
  [[nodiscard]] load::DeviceTimeline* device() const { return device_; }
  /// Shown until there is a device.
  void show_overview(std::shared_ptr<const scene::Overview> overview, const QString& doing);

  /// @param holds  arrows of the lifetime
  void set_selected(std::optional<scene::LifetimeId> lifetime, std::vector<scene::HoldArrow> holds);
  void set_point(std::optional<scene::Unit> point);
  /// To be called after the device's document has changed.
  void refresh();
  /// To be called after the bands have changed.
  void rows_changed();

  void zoom(double factor);
  void pan(double share);
  void fit_whole();
  void fit(scene::Unit from, scene::Unit to);
  void back();
  void forward();
  void toggle_axis();
  void set_axis(scene::Axis axis);
  /// Shows exactly these units, without space around them.
  void show_units(scene::Unit from, scene::Unit to);
  void clear_range();
  void scroll_rows(int pages);
  /// Scrolls and pans as little as needed to make it visible.
  void reveal(scene::LifetimeId lifetime);
  /// The next lifetime left (-1) or right, or up (-1) or down. Without a start: the first visible one.
  [[nodiscard]] std::optional<scene::LifetimeId> beside(std::optional<scene::LifetimeId> from, int right,
                                                        int down) const;

  [[nodiscard]] const scene::View* view() const { return view_ ? &*view_ : nullptr; }
  [[nodiscard]] std::optional<std::pair<scene::Unit, scene::Unit>> range() const { return range_; }
  /// The unit at the pointer, or in the middle.
  [[nodiscard]] scene::Unit unit_at_pointer() const;
  /// The facts of the current picture.
  [[nodiscard]] const scene::Facts& facts();
  [[nodiscard]] QSize sizeHint() const override { return {900, 600}; }

 signals:
  void picked(std::optional<dcmt::scene::LifetimeId> lifetime);
  void point_picked(dcmt::scene::Unit unit);
  void range_changed();
  void hovered(const QString& text);
  void view_changed();
  /// A part of a trace is visible for the first time.
  void first_painted();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void draw();
  void measure(const QFontMetrics& metrics);
  void moved();
  [[nodiscard]] double share_at(double x) const;
  [[nodiscard]] QPoint device_point(const QPointF& at) const;
  [[nodiscard]] QString text_at(const QPoint& at) const;

  load::DeviceTimeline* device_ = nullptr;
  std::shared_ptr<const scene::Overview> overview_;
  QString doing_;
  bool painted_ = false;
  std::optional<scene::View> view_;
  scene::ViewHistory history_;
  scene::Appearance appearance_;
  scene::Painter painter_;
  scene::Raster raster_;
  QScrollBar* rows_;
  bool dirty_ = true;
  std::optional<std::pair<scene::Unit, scene::Unit>> range_;

  enum class Drag { kNone, kRange, kPan };
  Drag drag_ = Drag::kNone;
  QPointF pressed_at_, last_at_;
  bool dragged_ = false;
};

}  // namespace dcmt::gui
