// Small curves with the tables that explain them.
#pragma once

#include <QSplitter>

#include <utility>
#include <vector>

class QTabWidget;

namespace dcmt::gui {

class StripChart;
class TableModel;
class TableView;

class StripPanel : public QSplitter {
  Q_OBJECT

 public:
  /// @param tables  with their titles; the first one is shown
  StripPanel(const QString& name, const std::vector<std::pair<QString, TableModel*>>& tables,
             QWidget* parent = nullptr);

  [[nodiscard]] StripChart& chart() { return *chart_; }
  [[nodiscard]] const std::vector<TableView*>& tables() const { return tables_; }

 private:
  StripChart* chart_;
  QTabWidget* tabs_;
  std::vector<TableView*> tables_;
};

}  // namespace dcmt::gui
