#include "gui/widgets/picture.h"

#include <QFontInfo>
#include <QImage>
#include <QWidget>

#include <algorithm>
#include <cmath>

#include "gui/models/words.h"

namespace dcmt::gui {

const scene::Theme& theme_of(const QPalette& palette) {
  const bool dark = palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
  return dark ? scene::kDark : scene::kLight;
}

QFont display_font(const QWidget& widget) {
  QFont scaled = widget.font();
  const int pixels = QFontInfo(widget.font()).pixelSize();
  scaled.setPixelSize(std::max(8, static_cast<int>(std::lround(pixels * widget.devicePixelRatioF()))));
  return scaled;
}

scene::Appearance appearance_of(const QWidget& widget, const QFontMetrics& metrics) {
  const double ratio = widget.devicePixelRatioF();
  scene::Appearance appearance;
  appearance.width = std::max(1, static_cast<int>(widget.width() * ratio));
  appearance.height = std::max(1, static_cast<int>(widget.height() * ratio));
  appearance.text_height = metrics.height();
  appearance.theme = &theme_of(widget.palette());
  appearance.text_width = [&metrics](std::string_view text) { return metrics.horizontalAdvance(words::text(text)); };
  return appearance;
}

void paint_picture(QPainter& painter, const scene::Raster& raster, const QFont& font, double ratio) {
  const QImage image(reinterpret_cast<const uchar*>(raster.pixels().data()), raster.width(), raster.height(),
                     raster.width() * 4, QImage::Format_RGB32);
  painter.scale(1 / ratio, 1 / ratio);
  painter.drawImage(0, 0, image);
  painter.setFont(font);
  for (const scene::Raster::Text& text : raster.texts()) {
    painter.setPen(QColor(QRgb(text.color)));
    painter.drawText(QRect(text.box.x, text.box.y, text.box.width + 2, text.box.height),
                     Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip, words::text(text.text));
  }
}

void paint_with_focus(QPainter& painter, const scene::Raster& raster, const QWidget& widget) {
  paint_picture(painter, raster, display_font(widget), widget.devicePixelRatioF());
  if (!widget.hasFocus()) return;
  painter.setPen(widget.palette().color(QPalette::Highlight));
  painter.drawRect(0, 0, raster.width() - 1, raster.height() - 1);
}

}  // namespace dcmt::gui
