// What a scene has drawn, in a widget: its pixels and its texts.
#pragma once

#include <QFont>
#include <QPainter>
#include <QPalette>
#include <QWidget>

#include "gui/scene/colors.h"
#include "gui/scene/raster.h"

namespace dcmt::gui {

/// The theme that goes with the colors of the desktop.
[[nodiscard]] const scene::Theme& theme_of(const QPalette& palette);
/// A widget's font in pixels of the display.
[[nodiscard]] QFont display_font(const QWidget& widget);
/// From the top left of what `painter` paints on. @param ratio  pixels of the display for one of the widget
void paint_picture(QPainter& painter, const scene::Raster& raster, const QFont& font, double ratio);

}  // namespace dcmt::gui
