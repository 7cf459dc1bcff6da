#include "gui/widgets/table_view.h"

#include <QHeaderView>
#include <QPainter>

#include "gui/models/table_model.h"

namespace dcmt::gui {

TableView::TableView(TableModel& model, const QString& name, QWidget* parent) : QTableView(parent), model_(model) {
  setObjectName(name);
  setAccessibleName(name);
  setModel(&model);
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setShowGrid(false);
  setAlternatingRowColors(true);
  setTabKeyNavigation(false);
  verticalHeader()->hide();
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  horizontalHeader()->setStretchLastSection(true);
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  setWordWrap(false);
  connect(&model, &QAbstractItemModel::modelReset, this, [this] {
    filled_ = true;
    setAccessibleDescription(model_.rowCount() == 0 ? if_empty_ : QString());
    resizeColumnsToContents();
  });
}

void TableView::paintEvent(QPaintEvent* event) {
  QTableView::paintEvent(event);
  if (!filled_ || model_.rowCount() > 0) return;
  QPainter painter(viewport());
  painter.setPen(palette().color(QPalette::PlaceholderText));
  painter.drawText(viewport()->rect().adjusted(8, 8, -8, -8), Qt::AlignTop | Qt::AlignLeft | Qt::TextWordWrap,
                   if_empty_);
}

QString TableView::selected_text() const { return model_.text_of(selectionModel()->selectedRows()); }

}  // namespace dcmt::gui
