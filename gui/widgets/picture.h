// Shows the result of a scene in a widget: its pixels and its texts.
#pragma once

#include <QFont>
#include <QFontMetrics>
#include <QPainter>
#include <QPalette>
#include <QWidget>

#include "render/scene/colors.h"
#include "render/scene/frame.h"
#include "render/scene/raster.h"

namespace dcmt::gui {

/// The theme that matches the colors of the desktop.
[[nodiscard]] const scene::Theme& theme_of(const QPalette& palette);
/// A widget's font, sized in pixels of the display.
[[nodiscard]] QFont display_font(const QWidget& widget);
/// The parameters of a scene for a widget: its size in pixels of the display, its theme, and text widths of `metrics`,
/// which must outlive the drawing.
[[nodiscard]] scene::Appearance appearance_of(const QWidget& widget, const QFontMetrics& metrics);
/// Paints at the top left of `painter`. @param ratio  pixels of the display per pixel of the widget
void paint_picture(QPainter& painter, const scene::Raster& raster, const QFont& font, double ratio);
/// Paints a widget's picture, with a frame while the widget has the focus.
void paint_with_focus(QPainter& painter, const scene::Raster& raster, const QWidget& widget);

}  // namespace dcmt::gui
