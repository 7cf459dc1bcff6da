// The address map at a point: a click selects a block, Left and Right select its neighbours.
#pragma once

#include <QWidget>

#include <optional>
#include <vector>

#include "render/load/device_timeline.h"
#include "render/scene/address_map.h"
#include "render/scene/raster.h"

namespace dcmt::gui {

class AddressView : public QWidget {
  Q_OBJECT

 public:
  explicit AddressView(QWidget* parent = nullptr);

  /// `device`: its addresses must be set. It must outlive this widget or be replaced first. nullptr: nothing is shown.
  void show_stretches(const load::DeviceTimeline* device, std::vector<scene::StretchAt> stretches);
  void set_selected(std::optional<scene::LifetimeId> lifetime);
  [[nodiscard]] const std::vector<scene::StretchAt>& stretches() const { return stretches_; }
  [[nodiscard]] const scene::AddressMapFacts& facts();

 signals:
  void picked(dcmt::scene::LifetimeId lifetime);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void draw();
  void fit();
  [[nodiscard]] std::optional<scene::LifetimeId> block_at(const QPointF& at) const;

  const load::DeviceTimeline* device_ = nullptr;
  std::vector<scene::StretchAt> stretches_;
  std::optional<scene::LifetimeId> selected_;
  scene::Raster raster_;
  scene::AddressMapFacts facts_;
};

}  // namespace dcmt::gui
