#include "gui/widgets/strip_panel.h"

#include <QScrollArea>
#include <QTabBar>
#include <QTabWidget>

#include "gui/widgets/strip_chart.h"
#include "gui/widgets/table_view.h"

namespace dcmt::gui {

StripPanel::StripPanel(const QString& name, const std::vector<std::pair<QString, TableModel*>>& tables, QWidget* parent)
    : QSplitter(Qt::Horizontal, parent), chart_(new StripChart(name)), tabs_(new QTabWidget) {
  auto* scroll = new QScrollArea(this);
  scroll->setWidget(chart_);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setFocusPolicy(Qt::NoFocus);
  addWidget(scroll);
  for (const auto& [title, model] : tables) {
    tables_.push_back(new TableView(*model, title));
    tabs_->addTab(tables_.back(), title);
  }
  tabs_->tabBar()->setVisible(tables.size() > 1);
  tabs_->setDocumentMode(true);
  addWidget(tabs_);
  setSizes({600, 500});
}

}  // namespace dcmt::gui
