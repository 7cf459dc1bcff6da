#include "gui/app/event_log.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QComboBox>
#include <QDockWidget>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMenu>
#include <QMenuBar>
#include <QTabBar>

#include "gui/app/main_window.h"
#include "gui/app/more_panels.h"
#include "gui/models/words.h"
#include "gui/widgets/address_view.h"
#include "gui/widgets/strip_chart.h"
#include "gui/widgets/strip_panel.h"
#include "gui/widgets/table_view.h"
#include "gui/widgets/timeline.h"

namespace dcmt::gui {
namespace {

constexpr int kWriteEveryMs = 60;
constexpr int kMostLoggedRows = 40;
constexpr std::size_t kMostLoggedBars = 200;

QJsonArray point(const QWidget& widget, const QPoint& at) {
  const QPoint global = widget.mapToGlobal(at);
  return {global.x(), global.y()};
}

/// The middle of a box of a picture, in pixels of the display.
QJsonArray middle(const QWidget& widget, const scene::Box& box) {
  const double ratio = widget.devicePixelRatioF();
  return point(widget, {static_cast<int>((box.x + box.width / 2.0) / ratio),
                        static_cast<int>((box.y + box.height / 2.0) / ratio)});
}

void add_actions(const QWidget& widget, const QList<QAction*>& actions, const std::function<QRect(QAction*)>& place,
                 QJsonObject& places) {
  for (QAction* action : actions) {
    if (!action->text().isEmpty())
      places[QStringLiteral("menu ") + action->text()] = point(widget, place(action).center());
  }
}

QJsonObject places_of(MainWindow& window) {
  QJsonObject places;
  for (const QTabBar* bar : window.findChildren<QTabBar*>()) {
    if (!bar->isVisible()) continue;
    for (int i = 0; i < bar->count(); ++i) {
      if (bar->rect().contains(bar->tabRect(i).center()))
        places[QStringLiteral("tab ") + bar->tabText(i)] = point(*bar, bar->tabRect(i).center());
    }
  }
  for (const QComboBox* box : window.findChildren<QComboBox*>()) {
    if (box->isVisible()) places[QStringLiteral("box ") + box->accessibleName()] = point(*box, box->rect().center());
  }
  const auto* menus = window.menuBar();
  add_actions(
      *menus, menus->actions(), [menus](QAction* action) { return menus->actionGeometry(action); }, places);
  if (const auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget()); menu != nullptr) {
    add_actions(
        *menu, menu->actions(), [menu](QAction* action) { return menu->actionGeometry(action); }, places);
  } else if (const QWidget* popup = QApplication::activePopupWidget(); popup != nullptr) {
    for (const auto* list : popup->findChildren<QAbstractItemView*>()) {
      for (int row = 0; row < list->model()->rowCount(); ++row) {
        const QModelIndex index = list->model()->index(row, 0);
        places[QStringLiteral("choice ") + index.data().toString()] =
            point(*list->viewport(), list->visualRect(index).center());
      }
    }
  }
  for (const auto* table : window.findChildren<TableView*>()) {
    if (table->visibleRegion().isEmpty()) continue;
    for (int row = 0; row < std::min(kMostLoggedRows, table->model()->rowCount()); ++row) {
      const QRect cell = table->visualRect(table->model()->index(row, 0));
      if (!table->viewport()->rect().contains(cell.center())) continue;
      const QString name = QStringLiteral("%1 %2").arg(table->accessibleName()).arg(row);
      places[QStringLiteral("row ") + name] = point(*table->viewport(), cell.center());
      places[QStringLiteral("tick ") + name] =
          point(*table->viewport(), {cell.left() + cell.height() / 2, cell.center().y()});
    }
  }
  return places;
}

QJsonObject tables_of(const MainWindow& window) {
  QJsonObject tables;
  for (const auto* table : window.findChildren<TableView*>()) {
    if (table->visibleRegion().isEmpty()) continue;
    QJsonArray rows;
    for (int row = 0; row < std::min(kMostLoggedRows, table->model()->rowCount()); ++row) {
      QJsonArray cells;
      for (int column = 0; column < table->model()->columnCount(); ++column)
        cells.append(table->model()->index(row, column).data().toString());
      rows.append(cells);
    }
    tables[table->accessibleName()] = rows;
  }
  return tables;
}

QJsonObject line_of(MainWindow& window) {
  QJsonObject line{{"message", window.message()}};
  QJsonArray seen;
  for (const QDockWidget* dock : window.findChildren<QDockWidget*>()) {
    if (!dock->visibleRegion().isEmpty()) seen.append(dock->objectName());
  }
  line["seen"] = seen;
  const QWidget* focus = QApplication::focusWidget();
  line["focus"] = focus != nullptr ? focus->accessibleName() : QString();
  QJsonObject places = places_of(window);
  if (const load::DeviceTimeline* device = window.timeline().device(); device != nullptr && window.session()) {
    const Selection& selection = window.selection();
    line["link"] = text_of(window.link());
    line["storage"] =
        selection.lifetime() ? static_cast<qint64>(device->block_of(*selection.lifetime()).storage.value) : 0;
    line["finding"] = static_cast<qint64>(selection.finding());
    line["point"] = selection.point() ? static_cast<qint64>(device->sequence_of(*selection.point()).value) : 0;
    line["without"] = device->shown() != nullptr ? static_cast<qint64>(device->shown()->peak.value) : 0;
    const scene::Facts& facts = window.timeline().facts();
    for (std::size_t i = 0; i < std::min(kMostLoggedBars, facts.bars.size()); ++i) {
      const scene::BarOf& bar = facts.bars[i];
      places[QStringLiteral("bar %1").arg(device->block_of(bar.lifetime).storage.value)] =
          middle(window.timeline(), bar.box);
    }
    for (const scene::Row& row : facts.rows) {
      if (row.what != scene::Row::What::kCurve) continue;
      places["curve"] = middle(window.timeline(), {facts.chart.x, row.y, facts.chart.width, row.height});
    }
    AddressView& map = window.more().addresses();
    if (!map.visibleRegion().isEmpty()) {
      for (const scene::BarOf& bar : map.facts().bars) {
        places[QStringLiteral("block %1").arg(device->block_of(bar.lifetime).storage.value)] = middle(map, bar.box);
      }
    }
    StripChart& ranks = window.rank_panel().chart();
    if (!ranks.visibleRegion().isEmpty()) {
      const auto& rows = ranks.facts().rows;
      for (std::size_t i = 0; i < rows.size(); ++i) places[QStringLiteral("rank %1").arg(i)] = middle(ranks, rows[i]);
    }
  }
  line["places"] = places;
  line["tables"] = tables_of(window);
  return line;
}

}  // namespace

bool EventLog::open(const QString& path) {
  file_.setFileName(path);
  if (!file_.open(QIODevice::WriteOnly | QIODevice::Truncate)) return false;
  QObject::connect(&timer_, &QTimer::timeout, &timer_, [this] { write_change(); });
  timer_.start(kWriteEveryMs);
  return true;
}

void EventLog::write_change() {
  QByteArray line = QJsonDocument(line_of(window_)).toJson(QJsonDocument::Compact) + '\n';
  if (line == last_) return;
  file_.write(line);
  file_.flush();
  last_ = std::move(line);
}

}  // namespace dcmt::gui
