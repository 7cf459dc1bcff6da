// A table of texts that is replaced as a whole. Most panels show one.
#pragma once

#include <QAbstractTableModel>
#include <QString>

#include <vector>

namespace dcmt::gui {

class TableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  struct Row {
    std::vector<QString> cells;
    std::vector<double> order;  ///< sort keys of cells that are numbers; empty: cells are sorted by text
    qint64 id = 0;              ///< identifies the row's subject
  };
  struct ColumnOf {
    QString title;
    bool number = false;  ///< aligned right
  };

  explicit TableModel(std::vector<ColumnOf> columns, QObject* parent = nullptr);

  void set_rows(std::vector<Row> rows);
  void set_table(std::vector<ColumnOf> columns, std::vector<Row> rows);
  [[nodiscard]] const Row& row_at(int row) const { return rows_[static_cast<std::size_t>(row)]; }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  /// Rows as text, one per line, with tabs between cells.
  [[nodiscard]] QString text_of(const QModelIndexList& rows) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

 private:
  std::vector<ColumnOf> columns_;
  std::vector<Row> rows_;
};

}  // namespace dcmt::gui
