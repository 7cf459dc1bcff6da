// The common table of all panels.
#pragma once

#include <QTableView>

namespace dcmt::gui {

class TableModel;

class TableView : public QTableView {
  Q_OBJECT

 public:
  /// Columns are resized to their contents whenever the model gets other rows.
  TableView(TableModel& model, const QString& name, QWidget* parent = nullptr);

  /// The text shown if a filled model has no rows.
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
