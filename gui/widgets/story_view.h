// The chart of a storage's story.
#pragma once

#include <QWidget>

#include <optional>

#include "render/scene/raster.h"
#include "render/scene/story_chart.h"

namespace dcmt::gui {

class StoryView : public QWidget {
  Q_OBJECT

 public:
  explicit StoryView(QWidget* parent = nullptr);

  void show_story(scene::StoryChart story);
  void set_point(std::optional<double> at);
  [[nodiscard]] const scene::StoryChart& story() const { return story_; }
  [[nodiscard]] const scene::StoryChartFacts& facts();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void draw();
  void fit();

  scene::StoryChart story_;
  std::optional<double> at_;
  scene::Raster raster_;
  scene::StoryChartFacts facts_;
};

}  // namespace dcmt::gui
