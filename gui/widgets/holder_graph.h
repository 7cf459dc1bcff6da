// The holders of the selection: a tree with an arrow from each holder to what it holds.
#pragma once

#include <QWidget>

#include <vector>

#include "render/scene/holder_tree.h"
#include "render/scene/raster.h"

namespace dcmt::gui {

class HolderGraph : public QWidget {
  Q_OBJECT

 public:
  explicit HolderGraph(QWidget* parent = nullptr);

  void show_roots(std::vector<scene::HolderNode> roots);
  [[nodiscard]] const scene::HolderTreeFacts& facts();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void draw(bool pixels);
  void fit();

  std::vector<scene::HolderNode> roots_;
  scene::HolderTreeFacts facts_;
  scene::Raster raster_;
};

}  // namespace dcmt::gui
