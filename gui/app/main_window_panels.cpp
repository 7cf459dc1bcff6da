// Builds the window: its panels, its tool bar, its menus.
#include <QAction>
#include <QComboBox>
#include <QDockWidget>
#include <QHeaderView>
#include <QLabel>
#include <QMenuBar>
#include <QProgressBar>
#include <QStatusBar>
#include <QToolBar>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

#include "gui/app/commands.h"
#include "gui/app/main_window.h"
#include "gui/app/more_panels.h"
#include "gui/app/own_keys.h"
#include "gui/models/run_words.h"
#include "gui/models/words.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/strip_chart.h"
#include "gui/widgets/strip_panel.h"
#include "gui/widgets/table_view.h"
#include "gui/widgets/timeline.h"

namespace dcmt::gui {

QDockWidget* MainWindow::add_panel(const QString& title, QWidget* widget, Qt::DockWidgetArea area) {
  auto* panel = new QDockWidget(title, this);
  panel->setObjectName(title);
  panel->setWidget(widget);
  addDockWidget(area, panel);
  return panel;
}

void MainWindow::make_panels() {
  auto* center = new QWidget(this);
  auto* layout = new QVBoxLayout(center);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  timeline_ = new Timeline(center);
  auto* legend = new Legend(center);
  legend_ = legend;
  layout->addWidget(legend);
  layout->addWidget(timeline_, 1);
  setCentralWidget(center);

  auto* bar = addToolBar(tr("Trace"));
  bar->setObjectName(QStringLiteral("trace"));
  bar->setMovable(false);
  const auto add_box = [&](const QString& name) {
    auto* box = new QComboBox(this);
    box->setAccessibleName(name);
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    box->setFocusPolicy(Qt::TabFocus);
    bar->addWidget(new QLabel(QStringLiteral(" ") + name + QStringLiteral(" "), this));
    bar->addWidget(box);
    return box;
  };
  traces_ = add_box(tr("trace"));
  devices_ = add_box(tr("device"));
  groupings_ = add_box(tr("stacked by"));
  for (const analyzer::GroupName& name : area_groupings()) groupings_->addItem(words::text(name.name));
  headline_ = new QLabel(this);
  headline_->setTextFormat(Qt::PlainText);
  headline_->setAccessibleName(tr("Peak"));
  bar->addWidget(headline_);
  connect(traces_, &QComboBox::activated, this, &MainWindow::open_file);
  connect(devices_, &QComboBox::activated, this, &MainWindow::show_device);
  connect(groupings_, &QComboBox::activated, this, &MainWindow::show_grouping);

  finding_table_ = new TableView(findings_, tr("Findings"), this);
  finding_table_->say_if_empty(tr("No finding in this trace: no memory is dead but held, as far as was recorded."));
  finding_panel_ = add_panel(tr("Findings"), finding_table_, Qt::RightDockWidgetArea);
  connect(finding_table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& row) {
            if (row.isValid()) selection_.select_finding(findings_.row_at(row.row()).id);
          });

  fact_table_ = new TableView(facts_, tr("Selection"), this);
  fact_table_->setWordWrap(true);
  fact_panel_ = add_panel(tr("Selection"), fact_table_, Qt::RightDockWidgetArea);
  connect(&facts_, &QAbstractItemModel::modelReset, this, [this] {
    fact_table_->resizeColumnToContents(0);
    fact_table_->resizeRowsToContents();
  });

  auto* live = new QWidget(this);
  auto* live_layout = new QVBoxLayout(live);
  live_layout->setContentsMargins(4, 4, 4, 0);
  auto* head = new QHBoxLayout();
  live_title_ = new QLabel(live);
  live_title_->setTextFormat(Qt::PlainText);
  live_by_ = new QComboBox(live);
  live_by_->setObjectName(QStringLiteral("live by"));
  live_by_->setAccessibleName(tr("Live set by"));
  for (const analyzer::GroupName& name : analyzer::kGroupNames) live_by_->addItem(words::text(name.name));
  head->addWidget(live_title_, 1);
  head->addWidget(new QLabel(tr("by"), live));
  head->addWidget(live_by_);
  live_layout->addLayout(head);
  live_table_ = new TableView(live_, tr("Live set"), this);
  live_table_->setSortingEnabled(true);
  live_table_->horizontalHeader()->setSortIndicator(0, Qt::DescendingOrder);
  live_layout->addWidget(live_table_);
  live_panel_ = add_panel(tr("Live set"), live, Qt::BottomDockWidgetArea);
  connect(live_by_, &QComboBox::activated, this, &MainWindow::show_live);
  connect(live_table_, &QTableView::activated, this, [this](const QModelIndex& index) {
    const BlockId block(live_.row_at(index.row()).id);
    if (const analyzer::Block* of = session_ ? session_->data->blocks.find(block) : nullptr; of != nullptr) {
      if (const auto lifetime = device()->lifetime_of(of->storage)) select_lifetime(lifetime);
    }
  });

  story_table_ = new TableView(story_, tr("Story"), this);
  story_table_->say_if_empty(tr("Click a bar: what happened to its storage, in order."));
  story_panel_ = add_panel(tr("Story"), story_table_, Qt::BottomDockWidgetArea);
  connect(story_table_, &QTableView::activated, this, [this](const QModelIndex& index) {
    if (device() != nullptr) selection_.select_point(device()->unit_of(Sequence(story_.row_at(index.row()).id)));
  });
  add_strip_panels();
  resizeDocks({finding_panel_, fact_panel_}, {240, 420}, Qt::Vertical);
  resizeDocks({finding_panel_}, {460}, Qt::Horizontal);
  resizeDocks({live_panel_, story_panel_}, {600, 600}, Qt::Horizontal);
  resizeDocks({live_panel_}, {220}, Qt::Vertical);

  status_ = new QLabel(this);
  status_->setTextFormat(Qt::PlainText);
  status_->setAccessibleName(tr("Message"));
  progress_ = new QProgressBar(this);
  progress_->setAccessibleName(tr("Progress of opening"));
  progress_->setMaximumWidth(160);
  progress_->setVisible(false);
  cancel_ = new QToolButton(this);
  cancel_->setText(tr("cancel"));
  cancel_->setVisible(false);
  connect(cancel_, &QToolButton::clicked, this, [this] {
    opener_.cancel();
    progress_->setVisible(false);
    cancel_->setVisible(false);
    status_->setText(tr("cancelled"));
  });
  statusBar()->addWidget(status_, 1);
  statusBar()->addPermanentWidget(progress_);
  statusBar()->addPermanentWidget(cancel_);
}

/// These panels are shown when they have contents.
void MainWindow::add_strip_panels() {
  rank_panel_ = new StripPanel(tr("Curves of the ranks"),
                               {{tr("What differs"), &rank_differences_}, {tr("Ranks"), &ranks_table_}}, this);
  ranks_dock_ = add_panel(tr("Ranks"), rank_panel_, Qt::BottomDockWidgetArea);
  const auto open_rank = [this](std::size_t index) {
    if (!ranks_ || index >= ranks_->paths.size()) return;
    const int at = traces_->findData(QString::fromStdString(ranks_->paths[index]));
    if (at >= 0) open_file(at);
  };
  connect(&rank_panel_->chart(), &StripChart::picked, this, open_rank);
  connect(rank_panel_->tables()[1], &QTableView::activated, this, [this, open_rank](const QModelIndex& index) {
    open_rank(static_cast<std::size_t>(ranks_table_.row_at(index.row()).id));
  });
  connect(rank_panel_->tables()[0], &QTableView::activated, this, [this, open_rank](const QModelIndex& index) {
    if (!ranks_) return;
    const auto& all = ranks_->comparison.ranks;
    const auto of = std::ranges::find(all, rank_differences_.row_at(index.row()).id, &analyzer::RankFacts::rank);
    if (of != all.end()) open_rank(static_cast<std::size_t>(of - all.begin()));
  });

  compare_panel_ = new StripPanel(tr("Curves before and after"), {{tr("What explains it"), &difference_}}, this);
  compare_dock_ = add_panel(tr("Comparison"), compare_panel_, Qt::BottomDockWidgetArea);
  connect(compare_panel_->tables()[0], &QTableView::activated, this, [this](const QModelIndex& index) {
    const qint64 step = difference_.row_at(index.row()).id;
    if (step >= 0) show_step(static_cast<std::size_t>(step));
  });
  tabifyDockWidget(live_panel_, ranks_dock_);
  tabifyDockWidget(ranks_dock_, compare_dock_);
  more_ = new MorePanels(*this, compare_dock_, story_panel_);
  connect(more_, &MorePanels::storage_picked, this, [this](qint64 storage) {
    if (const QString why = select(QStringLiteral("storage:%1").arg(storage)); !why.isEmpty()) status_->setText(why);
  });
  connect(more_, &MorePanels::sequence_picked, this, [this](qint64 seq) {
    if (device() != nullptr) selection_.select_point(device()->unit_of(Sequence(seq)));
  });
  // A click on a tab has the same effect as the key.
  for (QDockWidget* dock : findChildren<QDockWidget*>()) {
    connect(dock, &QDockWidget::visibilityChanged, this, [this, dock](bool seen) {
      if (seen && session_) give_room(dock);
    });
  }
  connect(more_, &MorePanels::lifetime_picked, this, [this](scene::LifetimeId lifetime) { select_lifetime(lifetime); });
  connect(more_, &MorePanels::addresses_wanted, this, [this] { read_addresses(false); });
  live_panel_->raise();
  story_panel_->raise();
  ranks_dock_->hide();
  compare_dock_->hide();
}

void MainWindow::make_actions() {
  QMenu* menu = nullptr;
  QString name;
  for (const Command& command : commands()) {
    if (menu == nullptr || name != QLatin1String(command.menu)) {
      name = QLatin1String(command.menu);
      menu = menuBar()->addMenu(name);
    }
    auto* action = new QAction(QString::fromUtf8(command.text), this);
    QList<QKeySequence> keys;
    for (const QString& key : QString::fromUtf8(command.keys).split(QLatin1Char(' '))) keys.append(QKeySequence(key));
    action->setShortcuts(keys);
    connect(action, &QAction::triggered, this, [this, &command] { (this->*command.run)(); });
    addAction(action);
    menu->addAction(action);
  }
  new OwnKeys(*this, *timeline_);
}

}  // namespace dcmt::gui
