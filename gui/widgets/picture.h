// What a scene has drawn, in a widget: its pixels and its texts.
#pragma once

#include <QFont>
#include <QFontMetrics>
#include <QPainter>
#include <QPalette>
#include <QWidget>

#include "gui/scene/colors.h"
#include "gui/scene/frame.h"
#include "gui/scene/raster.h"

namespace dcmt::gui {

/// The theme that goes with the colors of the desktop.
[[nodiscard]] const scene::Theme& theme_of(const QPalette& palette);
/// A widget's font in pixels of the display.
[[nodiscard]] QFont display_font(const QWidget& widget);
/// How a scene draws into a widget: its size in pixels of the display, its theme, and texts of `metrics`, which must
/// outlive the drawing.
[[nodiscard]] scene::Look look_of(const QWidget& widget, const QFontMetrics& metrics);
/// From the top left of what `painter` paints on. @param ratio  pixels of the display for one of the widget
void paint_picture(QPainter& painter, const scene::Raster& raster, const QFont& font, double ratio);
/// Paints a widget's picture, and a frame around it while the widget has the focus.
void paint_with_focus(QPainter& painter, const scene::Raster& raster, const QWidget& widget);

}  // namespace dcmt::gui
