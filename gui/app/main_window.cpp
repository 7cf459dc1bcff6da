#include "gui/app/main_window.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDockWidget>
#include <QDropEvent>
#include <QFileDialog>
#include <QFontDatabase>
#include <QHeaderView>
#include <QInputDialog>
#include <QLabel>
#include <QMenuBar>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QStatusBar>
#include <QTableView>
#include <QToolBar>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

#include "gui/app/commands.h"
#include "gui/models/words.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/palette.h"
#include "gui/widgets/timeline.h"

namespace dcmt::gui {
namespace {

constexpr double kZoomStep = 1.25;
constexpr double kPanStep = 0.15;

/// By what the area can be stacked: what does not change while a block lives.
const std::vector<analyzer::GroupName>& groupings() {
  static const std::vector<analyzer::GroupName> all = [] {
    std::vector<analyzer::GroupName> names;
    for (const analyzer::GroupName& name : analyzer::kGroupNames) {
      if (name.by != analyzer::GroupBy::kOrigin) names.push_back(name);
    }
    return names;
  }();
  return all;
}

}  // namespace

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent),
      facts_({{tr("what")}, {tr("how it is")}}),
      story_({{tr("seq"), true}, {tr("after start"), true}, {tr("what")}, {tr("by")}}),
      live_({{tr("bytes"), true}, {tr("share"), true}, {tr("blocks"), true}, {tr("name")}}) {
  age_.start();
  setWindowTitle(tr("dc-memtrace"));
  setAcceptDrops(true);
  setDockOptions(AnimatedDocks | AllowTabbedDocks | AllowNestedDocks);
  resize(1400, 900);
  make_panels();
  make_actions();

  connect(&opener_, &Opener::progress, this, [this](double share) {
    progress_->setVisible(true);
    cancel_->setVisible(true);
    progress_->setValue(static_cast<int>(share * 100));
  });
  connect(&opener_, &Opener::overview, this, [this](const OverviewPointer& overview) {
    if (!session_) timeline_->show_overview(overview, tr("reading the rest"));
  });
  connect(timeline_, &Timeline::first_painted, this, [this] { first_paint_ms_ = age_.elapsed(); });
  connect(&opener_, &Opener::opened, this, &MainWindow::show_session);
  connect(&opener_, &Opener::failed, this, [this](const QString& why, int exit_code) {
    progress_->setVisible(false);
    cancel_->setVisible(false);
    status_->setText(why);
    timeline_->show_overview(nullptr, {});
    emit failed(why, exit_code);
  });
  connect(&what_if_, &WhatIf::found, this, [this](const WithoutPointer& without) {
    if (device() == nullptr) return;
    device()->show(without);
    status_->setText(without->findings.empty()
                         ? tr("peak %1").arg(words::exact_bytes(without->peak.value))
                         : tr("peak %1 without the ticked findings").arg(words::exact_bytes(without->peak.value)));
    timeline_->refresh();
    show_grouping();
    emit what_if_shown();
  });
  connect(&findings_, &FindingModel::ticked_changed, this, [this] {
    if (session_) what_if_.ask(session_, device_, findings_.ticked());
  });
  connect(&selection_, &Selection::changed, this, &MainWindow::show_selected);
  connect(&selection_, &Selection::moment_changed, this, [this] {
    timeline_->set_moment(selection_.moment());
    show_live();
  });
  connect(timeline_, &Timeline::picked, this, &MainWindow::select_lifetime);
  connect(timeline_, &Timeline::moment_picked, this, [this](scene::Unit unit) { selection_.select_moment(unit); });
  connect(timeline_, &Timeline::hovered, this, [this](const QString& text) {
    if (!text.isEmpty()) status_->setText(text);
  });
  connect(timeline_, &Timeline::range_changed, this, [this] {
    const auto range = timeline_->range();
    if (!range || device() == nullptr) return;
    const scene::Recording& recording = device()->recording();
    const scene::CurveColumn column = device()->document().curve->column(range->first, range->second + 1);
    status_->setText(tr("range of %1 · %2 events · %3 to %4")
                         .arg(words::time(recording.ns(range->second) - recording.ns(range->first)))
                         .arg(range->second - range->first)
                         .arg(words::exact_bytes(column.lowest), words::exact_bytes(column.highest)));
  });
}

MainWindow::~MainWindow() = default;

QTableView* MainWindow::add_table(TableModel& model, const QString& name) {
  auto* table = new QTableView(this);
  table->setObjectName(name);
  table->setAccessibleName(name);
  table->setModel(&model);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setShowGrid(false);
  table->setAlternatingRowColors(true);
  table->setTabKeyNavigation(false);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 6);
  table->horizontalHeader()->setStretchLastSection(true);
  table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table->setWordWrap(false);
  return table;
}

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
  for (const analyzer::GroupName& name : groupings()) groupings_->addItem(words::text(name.name));
  headline_ = new QLabel(this);
  headline_->setTextFormat(Qt::PlainText);
  headline_->setAccessibleName(tr("Peak"));
  bar->addWidget(headline_);
  connect(traces_, &QComboBox::activated, this,
          [this](int index) { opener_.open(traces_->itemData(index).toString().toStdString()); });
  connect(devices_, &QComboBox::activated, this, &MainWindow::show_device);
  connect(groupings_, &QComboBox::activated, this, &MainWindow::show_grouping);

  finding_table_ = add_table(findings_, tr("Findings"));
  finding_panel_ = add_panel(tr("Findings"), finding_table_, Qt::RightDockWidgetArea);
  connect(finding_table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& row) {
            if (row.isValid()) selection_.select_finding(findings_.row_at(row.row()).id);
          });
  connect(&findings_, &QAbstractItemModel::modelReset, this, [this] { finding_table_->resizeColumnsToContents(); });

  fact_table_ = add_table(facts_, tr("Selection"));
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
  live_by_->setAccessibleName(tr("Live set by"));
  for (const analyzer::GroupName& name : analyzer::kGroupNames) live_by_->addItem(words::text(name.name));
  head->addWidget(live_title_, 1);
  head->addWidget(new QLabel(tr("by"), live));
  head->addWidget(live_by_);
  live_layout->addLayout(head);
  live_table_ = add_table(live_, tr("Live set"));
  live_table_->setSortingEnabled(true);
  live_table_->horizontalHeader()->setSortIndicator(0, Qt::DescendingOrder);
  live_layout->addWidget(live_table_);
  live_panel_ = add_panel(tr("Live set"), live, Qt::BottomDockWidgetArea);
  connect(live_by_, &QComboBox::activated, this, &MainWindow::show_live);
  connect(&live_, &QAbstractItemModel::modelReset, this, [this] { live_table_->resizeColumnsToContents(); });
  connect(live_table_, &QTableView::activated, this, [this](const QModelIndex& index) {
    const BlockId block(live_.row_at(index.row()).id);
    if (const analyzer::Block* of = session_ ? session_->data->blocks.find(block) : nullptr; of != nullptr) {
      if (const auto lifetime = device()->lifetime_of(of->storage)) select_lifetime(lifetime);
    }
  });

  story_table_ = add_table(story_, tr("Story"));
  story_panel_ = add_panel(tr("Story"), story_table_, Qt::BottomDockWidgetArea);
  connect(&story_, &QAbstractItemModel::modelReset, this, [this] { story_table_->resizeColumnsToContents(); });
  connect(story_table_, &QTableView::activated, this, [this](const QModelIndex& index) {
    if (device() != nullptr) selection_.select_moment(device()->unit_of(Sequence(story_.row_at(index.row()).id)));
  });
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
    if (command.in_timeline) {
      action->setShortcutContext(Qt::WidgetShortcut);
      timeline_->addAction(action);
    } else {
      addAction(action);
    }
    menu->addAction(action);
  }
}

load::DeviceTimeline* MainWindow::device() const {
  return session_ && device_ < session_->devices.size() ? session_->devices[device_].get() : nullptr;
}

QString MainWindow::message() const { return status_->text(); }

std::vector<std::pair<QString, const TableModel*>> MainWindow::tables() const {
  return {{QStringLiteral("findings"), &findings_},
          {QStringLiteral("selection"), &facts_},
          {QStringLiteral("story"), &story_},
          {QStringLiteral("live"), &live_}};
}

void MainWindow::open(const QString& path) {
  const Expected<std::vector<std::string>> files = load::traces_of(path.toStdString());
  if (!files.ok()) {
    status_->setText(QString::fromStdString(files.error().message));
    emit failed(QString::fromStdString(files.error().message), 3);
    return;
  }
  path_ = path.toStdString();
  traces_->clear();
  for (const std::string& file : *files) {
    traces_->addItem(QString::fromStdString(file.substr(file.rfind('/') + 1)), QString::fromStdString(file));
  }
  status_->setText(tr("reading %1").arg(traces_->itemText(0)));
  opener_.open(files->front());
}

void MainWindow::show_session(const SessionPointer& session) {
  progress_->setVisible(false);
  cancel_->setVisible(false);
  timeline_->show_device(nullptr);  // before what it shows goes
  session_ = session;
  setWindowTitle(words::text(session_->path) + tr(" - dc-memtrace"));
  devices_->clear();
  for (const auto& each : session_->devices) devices_->addItem(words::text(each->name()));
  show_device(0);
  const std::size_t findings = session_->report.findings.size();
  status_->setText(tr("%1 · %2 lost")
                       .arg(findings == 0   ? tr("no finding")
                            : findings == 1 ? tr("1 finding")
                                            : tr("%1 findings").arg(findings))
                       .arg(session_->report.facts.lost));
  complete_ms_ = age_.elapsed();
  emit opened();
}

void MainWindow::show_device(int index) {
  if (!session_ || index < 0 || static_cast<std::size_t>(index) >= session_->devices.size()) return;
  device_ = static_cast<std::size_t>(index);
  matches_.clear();
  devices_->setCurrentIndex(index);
  selection_.clear();
  timeline_->show_device(device());
  const model::DevicePeak& peak = device()->peak();
  findings_.set_findings(session_->report, peak);
  if (device()->shown() != nullptr) findings_.set_ticked(device()->shown()->findings);
  headline_->setText(QStringLiteral("   ") + words::text(device()->document().peak_text) +
                     (peak.dead_bytes.value > 0
                          ? tr(" · dead but held %1 · without: %2")
                                .arg(words::bytes(peak.dead_bytes.value), words::bytes(peak.predicted_bytes.value))
                          : QString()));
  show_grouping();
  selection_.select_moment(device()->document().curve->peak_at());
  if (findings_.rowCount() > 0) {
    finding_table_->setCurrentIndex(findings_.index(0, 0));  // the worst one
  } else {
    show_selected();
  }
}

void MainWindow::show_grouping() {
  if (device() == nullptr) return;
  const analyzer::GroupBy by = groupings()[static_cast<std::size_t>(std::max(0, groupings_->currentIndex()))].by;
  if (by != device()->stacked_by()) device()->stack_by(by);
  static_cast<Legend*>(legend_)->show_groups(device()->document().groups, device()->document().without != nullptr);
  timeline_->refresh();
}

void MainWindow::show_selected() {
  std::vector<TableModel::Row> facts;
  std::vector<TableModel::Row> story;
  const std::optional<scene::LifetimeId> lifetime = selection_.lifetime();
  QString spoken;
  if (session_) {
    if (lifetime) {
      const analyzer::Block& block = device()->block_of(*lifetime);
      const auto view = model::storage_view(session_->path, session_->analysis, block.storage);
      if (view.ok()) {
        facts = words::facts(*view);
        story = words::story(*view);
      } else {
        facts.push_back({{tr("block"), QString::number(block.id.value)}, {}, 0});
        facts.push_back({{tr("bytes"), words::exact_bytes(block.bytes.value)}, {}, 0});
      }
    }
    const auto finding = std::find_if(session_->report.findings.begin(), session_->report.findings.end(),
                                      [&](const model::Finding& each) { return each.number == selection_.finding(); });
    if (finding != session_->report.findings.end()) {
      const std::vector<TableModel::Row> more = words::facts(*finding, session_->report);
      facts.insert(facts.end(), more.begin(), more.end());
    }
    if (facts.empty()) facts = words::facts(device()->peak());
    for (const TableModel::Row& row : facts)
      spoken += row.cells[0] + QStringLiteral(": ") + row.cells[1] + QStringLiteral("; ");
  }
  facts_.set_rows(std::move(facts));
  story_.set_rows(std::move(story));
  timeline_->set_selected(lifetime);
  timeline_->setAccessibleDescription(spoken);
  const int row = findings_.row_of(selection_.finding());
  if (row >= 0 && finding_table_->currentIndex().row() != row) finding_table_->setCurrentIndex(findings_.index(row, 0));
}

std::string MainWindow::moment_text() const {
  return selection_.moment() ? std::to_string(device()->sequence_of(*selection_.moment()).value) : "peak";
}

void MainWindow::show_live() {
  std::vector<TableModel::Row> rows;
  if (device() != nullptr && selection_.moment()) {
    const auto by = analyzer::kGroupNames[static_cast<std::size_t>(std::max(0, live_by_->currentIndex()))].by;
    const Expected<Sequence> seq = model::moment_named(session_->path, session_->analysis, moment_text());
    if (seq.ok()) {
      const model::LiveSet live(session_->data.get(), &session_->analysis.phases, device()->device().device, *seq);
      rows = words::groups(live.by(by));
      const std::int64_t ns = device()->recording().ns(*selection_.moment()) - device()->recording().begin_ns();
      live_title_->setText(tr("%1 alive at seq %2, %3 after the start")
                               .arg(words::exact_bytes(live.bytes().value))
                               .arg(seq->value)
                               .arg(words::time(ns)));
    } else {
      live_title_->setText(QString::fromStdString(seq.error().message));
    }
  } else {
    live_title_->setText({});
  }
  live_.set_rows(std::move(rows));
}

void MainWindow::select_lifetime(std::optional<scene::LifetimeId> lifetime) {
  std::int64_t finding = 0;
  if (lifetime) {
    const std::uint16_t band = device()->recording().lifetimes()[*lifetime].band;
    if (band != scene::kNoBand) finding = device()->document().bands[band].finding;
    timeline_->reveal(*lifetime);
  }
  selection_.select_lifetime(lifetime, finding);
}

QString MainWindow::show_moment(const QString& at) {
  if (!session_) return tr("no trace is open.");
  const Expected<Sequence> seq = model::moment_named(session_->path, session_->analysis, at.toStdString());
  if (!seq.ok()) return QString::fromStdString(seq.error().message);
  selection_.select_moment(device()->unit_of(*seq));
  return {};
}

QString MainWindow::select(const QString& what) {
  if (!session_) return tr("no trace is open.");
  const qsizetype colon = what.indexOf(QLatin1Char(':'));
  bool is_number = false;
  const qlonglong number = what.mid(colon + 1).toLongLong(&is_number);
  const QString kind = colon < 0 ? QString() : what.left(colon);
  if (is_number && kind == QLatin1String("finding")) {
    const std::vector<scene::LifetimeId> lifetimes = device()->lifetimes_of(number);
    if (lifetimes.empty() && findings_.row_of(number) < 0) return tr("no finding %1 on this device.").arg(number);
    if (lifetimes.empty()) {
      selection_.select_finding(number);
    } else {
      select_lifetime(lifetimes.front());
    }
    return {};
  }
  if (is_number && kind == QLatin1String("storage")) {
    const auto lifetime = device()->lifetime_of(StorageId(number));
    if (!lifetime) return tr("no storage %1 on this device.").arg(number);
    select_lifetime(lifetime);
    return {};
  }
  return tr("'%1' is neither finding:N nor storage:N.").arg(what);
}

QString MainWindow::group_by(const QString& name) {
  const int area = groupings_->findText(name);
  const int live = live_by_->findText(name);
  if (area < 0 || live < 0) {
    QStringList names;
    for (int i = 0; i < groupings_->count(); ++i) names << groupings_->itemText(i);
    return tr("no grouping '%1'; there are %2.").arg(name, names.join(QStringLiteral(", ")));
  }
  groupings_->setCurrentIndex(area);
  live_by_->setCurrentIndex(live);
  show_grouping();
  show_live();
  return {};
}

void MainWindow::choose_trace() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Open a trace"), {}, tr("Traces (*.dcmt);;All files (*)"));
  if (!path.isEmpty()) open(path);
}
void MainWindow::reload() {
  if (!path_.empty()) open(QString::fromStdString(path_));
}
void MainWindow::choose_picture() {
  const QString path = QFileDialog::getSaveFileName(this, tr("Save the picture"), {}, tr("Pictures (*.png)"));
  if (!path.isEmpty() && !grab().save(path, "PNG")) status_->setText(tr("%1: cannot be written.").arg(path));
}
void MainWindow::quit() { close(); }
void MainWindow::zoom_in() { timeline_->zoom(kZoomStep); }
void MainWindow::zoom_out() { timeline_->zoom(1 / kZoomStep); }
void MainWindow::pan_left() { timeline_->pan(-kPanStep); }
void MainWindow::pan_right() { timeline_->pan(kPanStep); }
void MainWindow::rows_up() { timeline_->scroll_rows(-1); }
void MainWindow::rows_down() { timeline_->scroll_rows(1); }
void MainWindow::whole_run() { timeline_->fit_whole(); }
void MainWindow::view_before() { timeline_->back(); }
void MainWindow::view_after() { timeline_->forward(); }
void MainWindow::toggle_axis() { timeline_->toggle_axis(); }

void MainWindow::fit_selection() {
  if (device() == nullptr) return;
  if (const auto range = timeline_->range()) {
    timeline_->fit(range->first, range->second);
  } else if (selection_.lifetime()) {
    const scene::Lifetime& of = device()->recording().lifetimes()[*selection_.lifetime()];
    timeline_->fit(of.from, of.to);
  } else {
    timeline_->fit_whole();
  }
}

void MainWindow::next_grouping() {
  groupings_->setCurrentIndex((groupings_->currentIndex() + 1) % groupings_->count());
  show_grouping();
  status_->setText(tr("stacked by %1").arg(groupings_->currentText()));
}

void MainWindow::next_device() {
  if (session_) show_device(static_cast<int>((device_ + 1) % session_->devices.size()));
}

void MainWindow::step_finding(int by) {
  const int rows = findings_.rowCount();
  if (rows == 0) return;
  const int row = findings_.row_of(selection_.finding());
  const int next = row < 0 ? 0 : (row + by + rows) % rows;
  const std::vector<scene::LifetimeId> lifetimes = device()->lifetimes_of(findings_.row_at(next).id);
  if (lifetimes.empty()) {
    selection_.select_finding(findings_.row_at(next).id);
  } else {
    select_lifetime(lifetimes.front());
  }
}
void MainWindow::next_finding() { step_finding(1); }
void MainWindow::previous_finding() { step_finding(-1); }

void MainWindow::go_to_peak() {
  if (device() != nullptr) selection_.select_moment(device()->document().curve->peak_at());
}

void MainWindow::go_to() {
  bool ok = false;
  const QString at =
      QInputDialog::getText(this, tr("Go to a moment"), tr("peak, end, oom, step:7, a mark or a sequence number"),
                            QLineEdit::Normal, QStringLiteral("peak"), &ok);
  if (!ok) return;
  if (const QString why = show_moment(at); !why.isEmpty()) status_->setText(why);
}

QString MainWindow::find_text(const QString& text) {
  if (device() == nullptr) return tr("no trace is open.");
  bool is_number = false;
  const qlonglong number = text.toLongLong(&is_number);
  if (is_number) return select(QStringLiteral("storage:%1").arg(number));
  matches_ = device()->find(text.toStdString());
  if (matches_.empty()) return tr("no bar has '%1' in its operator or place.").arg(text);
  match_ = matches_.size() - 1;
  step_match(1);
  return {};
}

void MainWindow::find() {
  bool ok = false;
  const QString text =
      QInputDialog::getText(this, tr("Find"), tr("part of an operator's name or of a place, or a storage's number"),
                            QLineEdit::Normal, {}, &ok);
  if (!ok || text.isEmpty()) return;
  if (const QString why = find_text(text); !why.isEmpty()) status_->setText(why);
}

void MainWindow::step_match(int by) {
  if (matches_.empty()) return;
  match_ = (match_ + (by > 0 ? 1 : matches_.size() - 1)) % matches_.size();
  select_lifetime(matches_[match_]);
  status_->setText(tr("match %1 of %2").arg(match_ + 1).arg(matches_.size()));
}
void MainWindow::next_match() { step_match(1); }
void MainWindow::previous_match() { step_match(-1); }

void MainWindow::select_beside(int right, int down) {
  if (const auto next = timeline_->beside(selection_.lifetime(), right, down)) select_lifetime(next);
}
void MainWindow::next_in_lane() { select_beside(1, 0); }
void MainWindow::previous_in_lane() { select_beside(-1, 0); }
void MainWindow::lane_above() { select_beside(0, -1); }
void MainWindow::lane_below() { select_beside(0, 1); }

void MainWindow::moment_here() {
  if (device() == nullptr) return;
  const bool selected = selection_.lifetime() && !timeline_->underMouse();
  selection_.select_moment(selected ? device()->recording().lifetimes()[*selection_.lifetime()].from
                                    : timeline_->unit_at_pointer());
}

void MainWindow::clear_selection() {
  if (timeline_->range()) {
    timeline_->clear_range();
  } else {
    selection_.select_lifetime(std::nullopt, 0);
  }
}

void MainWindow::copy() {
  for (QTableView* table : {finding_table_, fact_table_, story_table_, live_table_}) {
    if (!table->hasFocus()) continue;
    QApplication::clipboard()->setText(
        static_cast<TableModel*>(table->model())->text_of(table->selectionModel()->selectedRows()));
    return;
  }
  QString text;
  for (const TableModel::Row& row : facts_.rows())
    text += row.cells[0] + QLatin1Char('\t') + row.cells[1] + QLatin1Char('\n');
  QApplication::clipboard()->setText(text);
}

void MainWindow::tick_finding() {
  const int row = findings_.row_of(selection_.finding());
  if (row < 0) return;
  const QModelIndex index = findings_.index(row, 0);
  const bool ticked = findings_.data(index, Qt::CheckStateRole).toInt() == Qt::Checked;
  findings_.setData(index, ticked ? Qt::Unchecked : Qt::Checked, Qt::CheckStateRole);
}

void MainWindow::raise_panel(QDockWidget* panel, QWidget* focus) {
  panel->show();
  panel->raise();
  focus->setFocus(Qt::ShortcutFocusReason);
}
void MainWindow::show_findings() { raise_panel(finding_panel_, finding_table_); }
void MainWindow::show_selection() { raise_panel(fact_panel_, fact_table_); }
void MainWindow::show_story() { raise_panel(story_panel_, story_table_); }
void MainWindow::show_live_set() { raise_panel(live_panel_, live_table_); }
void MainWindow::show_timeline() { timeline_->setFocus(Qt::ShortcutFocusReason); }

void MainWindow::next_pane() {
  const std::vector<QWidget*> panes{timeline_, finding_table_, fact_table_, story_table_, live_table_};
  std::size_t at = panes.size() - 1;
  for (std::size_t i = 0; i < panes.size(); ++i) {
    if (panes[i]->hasFocus()) at = i;
  }
  for (std::size_t i = 1; i <= panes.size(); ++i) {
    QWidget* next = panes[(at + i) % panes.size()];
    if (!next->isVisible()) continue;
    next->setFocus(Qt::ShortcutFocusReason);
    return;
  }
}

void MainWindow::toggle_panels() {
  const bool shown = finding_panel_->isVisible() || live_panel_->isVisible();
  for (QDockWidget* panel : {finding_panel_, fact_panel_, story_panel_, live_panel_}) panel->setVisible(!shown);
  timeline_->setFocus(Qt::ShortcutFocusReason);
}

void MainWindow::show_palette() {
  QStringList lines;
  for (const Command& command : commands()) {
    lines << QStringLiteral("%1: %2   %3")
                 .arg(QLatin1String(command.menu), QString::fromUtf8(command.text),
                      QString::fromUtf8(command.keys).section(QLatin1Char(' '), 0, 0));
  }
  Palette palette(tr("All commands"), lines, this);
  if (palette.exec() == QDialog::Accepted && palette.chosen() >= 0) {
    (this->*commands()[static_cast<std::size_t>(palette.chosen())].run)();
  }
}

void MainWindow::show_keys() {
  QDialog dialog(this);
  dialog.setWindowTitle(tr("Keys"));
  dialog.resize(720, 640);
  auto* text = new QPlainTextEdit(keys_text(), &dialog);
  text->setReadOnly(true);
  text->setAccessibleName(tr("Keys"));
  text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  auto* layout = new QVBoxLayout(&dialog);
  layout->addWidget(text);
  dialog.exec();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (!urls.isEmpty() && urls.front().isLocalFile()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (!urls.isEmpty()) open(urls.front().toLocalFile());
}

}  // namespace dcmt::gui
