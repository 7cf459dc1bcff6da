// Small curves on one axis, in rows, of which the user can choose one: ranks, two runs.
#pragma once

#include <QWidget>

#include <optional>

#include "render/scene/raster.h"
#include "render/scene/strips.h"

namespace dcmt::gui {

class StripChart : public QWidget {
  Q_OBJECT

 public:
  explicit StripChart(const QString& name, QWidget* parent = nullptr);

  /// `strips` must outlive this widget or be replaced first; nullptr: nothing is shown.
  void show_strips(const scene::Strips* strips);
  void set_point(std::optional<double> at);
  void set_current(std::optional<std::size_t> strip);
  [[nodiscard]] std::optional<std::size_t> current() const { return current_; }
  /// The facts of the current picture.
  [[nodiscard]] const scene::StripFacts& facts();
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 signals:
  void picked(std::size_t strip);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void draw();
  [[nodiscard]] std::optional<std::size_t> strip_at(double y) const;

  const scene::Strips* strips_ = nullptr;
  std::optional<double> at_;
  std::optional<std::size_t> current_;
  scene::Raster raster_;
  scene::StripFacts facts_;
};

}  // namespace dcmt::gui
