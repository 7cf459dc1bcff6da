#include "gui/widgets/legend.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>

#include "gui/models/words.h"
#include "gui/widgets/picture.h"

namespace dcmt::gui {

Legend::Legend(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("legend"));
  setAccessibleName(tr("Colors of the area"));
}

void Legend::show_groups(const std::vector<std::string>& groups, bool dead, bool reserved) {
  entries_.clear();
  if (reserved) entries_.push_back({tr("reserved, at most"), {}, Entry::kReserved, {}});
  if (dead) entries_.push_back({tr("dead but held"), {}, Entry::kDead, {}});
  for (std::size_t i = 0; i < groups.size(); ++i) {
    entries_.push_back({words::text(groups[i]), {}, static_cast<int>(i), {}});
  }
  entries_.push_back({tr("others"), {}, static_cast<int>(scene::kGroups) - 1, {}});
  QString names;
  for (const Entry& entry : entries_) names += entry.name + QLatin1Char('\n');
  setAccessibleDescription(names);
  place();
  update();
}

void Legend::place() {
  const QFontMetrics metrics = fontMetrics();
  const int line = metrics.height() + 4;
  int x = 4;
  int y = 2;
  for (Entry& entry : entries_) {
    // The end is more informative than the begin: it has the line and the function.
    entry.shown = metrics.elidedText(entry.name, Qt::ElideLeft, std::max(80, std::min(200, width() - 40)));
    const int needed = metrics.height() + metrics.horizontalAdvance(entry.shown) + 12;
    if (x > 4 && x + needed > width()) {
      x = 4;
      y += line;
    }
    entry.box = QRect(x, y, needed, line);
    x += needed;
  }
  setFixedHeight(y + line + 2);
}

void Legend::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  place();
}

void Legend::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange) place();
  QWidget::changeEvent(event);
}

void Legend::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  const scene::Theme& theme = theme_of(palette());
  const int square = fontMetrics().height() * 2 / 3;
  for (const Entry& entry : entries_) {
    const QRect color(entry.box.x(), entry.box.y() + (entry.box.height() - square) / 2, square, square);
    if (entry.color == Entry::kReserved) {
      painter.fillRect(QRect(color.x(), color.center().y() - 1, square, 2), QColor(QRgb(theme.reserved)));
    } else if (entry.color == Entry::kDead) {
      painter.fillRect(color, QBrush(QColor(QRgb(theme.dead)), Qt::BDiagPattern));
      painter.setPen(QColor(QRgb(theme.dead)));
      painter.drawRect(color.adjusted(0, 0, -1, -1));
    } else {
      painter.fillRect(color, QColor(QRgb(theme.groups[static_cast<std::size_t>(entry.color)])));
    }
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(entry.box.adjusted(square + 5, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, entry.shown);
  }
}

bool Legend::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    for (const Entry& entry : entries_) {
      if (entry.box.contains(help->pos())) QToolTip::showText(help->globalPos(), entry.name.toHtmlEscaped(), this);
    }
    return true;
  }
  return QWidget::event(event);
}

}  // namespace dcmt::gui
