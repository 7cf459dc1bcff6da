#include "gui/widgets/table_view.h"

#include <QHeaderView>

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
  connect(&model, &QAbstractItemModel::modelReset, this, [this] { resizeColumnsToContents(); });
}

QString TableView::selected_text() const { return model_.text_of(selectionModel()->selectedRows()); }

}  // namespace dcmt::gui
