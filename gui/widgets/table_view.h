// The table of a panel, as all panels have it.
#pragma once

#include <QTableView>

namespace dcmt::gui {

class TableModel;

class TableView : public QTableView {
  Q_OBJECT

 public:
  /// Columns are as wide as what is in them whenever the model has other rows.
  TableView(TableModel& model, const QString& name, QWidget* parent = nullptr);

  [[nodiscard]] TableModel& table() const { return model_; }
  /// The selected rows as text.
  [[nodiscard]] QString selected_text() const;

 private:
  TableModel& model_;
};

}  // namespace dcmt::gui
