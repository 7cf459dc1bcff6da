#include "gui/models/table_model.h"

#include <algorithm>
#include <utility>

namespace dcmt::gui {

TableModel::TableModel(std::vector<ColumnOf> columns, QObject* parent)
    : QAbstractTableModel(parent), columns_(std::move(columns)) {}

void TableModel::set_rows(std::vector<Row> rows) {
  beginResetModel();
  rows_ = std::move(rows);
  endResetModel();
}

void TableModel::set_table(std::vector<ColumnOf> columns, std::vector<Row> rows) {
  beginResetModel();
  columns_ = std::move(columns);
  rows_ = std::move(rows);
  endResetModel();
}

QString TableModel::text_of(const QModelIndexList& rows) const {
  QString text;
  for (const QModelIndex& index : rows) {
    const Row& row = row_at(index.row());
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      text += (i == 0 ? QString() : QStringLiteral("\t")) + row.cells[i];
    text += QLatin1Char('\n');
  }
  return text;
}

int TableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int TableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(columns_.size());
}

QVariant TableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const auto column = static_cast<std::size_t>(index.column());
  if (role == Qt::DisplayRole || role == Qt::ToolTipRole) return row_at(index.row()).cells[column];
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>((columns_[column].number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  return {};
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  if (role == Qt::DisplayRole) return columns_[static_cast<std::size_t>(section)].title;
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>((columns_[static_cast<std::size_t>(section)].number ? Qt::AlignRight : Qt::AlignLeft) |
                            Qt::AlignVCenter);
  }
  return {};
}

void TableModel::sort(int column, Qt::SortOrder order) {
  if (column < 0 || column >= columnCount()) return;
  emit layoutAboutToBeChanged({}, QAbstractItemModel::VerticalSortHint);
  const auto at = static_cast<std::size_t>(column);
  const QModelIndexList before = persistentIndexList();
  std::vector<std::size_t> from(rows_.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = i;
  std::stable_sort(from.begin(), from.end(), [&](std::size_t a, std::size_t b) {
    const Row& first = rows_[order == Qt::AscendingOrder ? a : b];
    const Row& second = rows_[order == Qt::AscendingOrder ? b : a];
    if (at < first.order.size() && at < second.order.size() && columns_[at].number) {
      return first.order[at] < second.order[at];
    }
    return first.cells[at] < second.cells[at];
  });
  std::vector<Row> sorted;
  sorted.reserve(rows_.size());
  std::vector<int> to(rows_.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[from[i]] = static_cast<int>(i);
    sorted.push_back(std::move(rows_[from[i]]));
  }
  rows_ = std::move(sorted);
  QModelIndexList after;
  for (const QModelIndex& old : before) after.append(index(to[static_cast<std::size_t>(old.row())], old.column()));
  changePersistentIndexList(before, after);
  emit layoutChanged({}, QAbstractItemModel::VerticalSortHint);
}

}  // namespace dcmt::gui
