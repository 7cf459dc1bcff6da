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

  /// What stands there where a filled model has no rows.
  void say_if_empty(const QString& text) { if_empty_ = text; }

  [[nodiscard]] TableModel& table() const { return model_; }
  /// The selected rows as text.
  [[nodiscard]] QString selected_text() const;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  TableModel& model_;
  QString if_empty_;
  bool filled_ = false;
};

}  // namespace dcmt::gui
