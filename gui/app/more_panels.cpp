#include "gui/app/more_panels.h"

#include <QHeaderView>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QShortcut>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>

#include "gui/models/panel_words.h"
#include "gui/models/words.h"
#include "gui/widgets/address_view.h"
#include "gui/widgets/holder_graph.h"
#include "gui/widgets/story_view.h"
#include "gui/widgets/table_view.h"
#include "render/load/holder_tree.h"
#include "render/load/query.h"
#include "render/load/story_of_storage.h"

namespace dcmt::gui {
namespace {

constexpr std::size_t kMostPathsDrawn = 60;
constexpr std::size_t kMostAnswers = 10000;
constexpr const char* kFirstQuestion = "SELECT seq, ns, bytes FROM allocated ORDER BY bytes DESC, seq LIMIT 10";

QLabel* plain_label(QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  return label;
}

}  // namespace

MorePanels::MorePanels(QMainWindow& window, QDockWidget* left, QDockWidget* right)
    : QObject(&window),
      window_(window),
      containers_(words::container_columns()),
      paths_(words::path_columns()),
      releases_(words::release_columns()),
      survivors_(words::survivor_columns()),
      saved_(words::saved_columns()),
      stretches_(words::stretch_columns()),
      run_({{tr("property")}, {tr("value")}}),
      answer_(std::vector<TableModel::ColumnOf>{}) {
  auto* holders = new QWidget(&window);
  auto* holders_layout = new QVBoxLayout(holders);
  holders_layout->setContentsMargins(4, 4, 4, 0);
  holders_title_ = plain_label(holders);
  holders_layout->addWidget(holders_title_);
  auto* tabs = new QTabWidget(holders);
  tabs->setDocumentMode(true);
  graph_ = new HolderGraph;
  auto* scroll = new QScrollArea;
  scroll->setWidget(graph_);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  tabs->addTab(scroll, tr("Graph"));
  auto* containers = new TableView(containers_, tr("Containers"));
  containers->say_if_empty(tr("No list, dictionary or other container leads to it, as far as the memory was read."));
  containers->setSortingEnabled(true);
  containers->horizontalHeader()->setSortIndicator(3, Qt::DescendingOrder);
  tabs->addTab(containers, tr("Containers"));
  auto* paths = new TableView(paths_, tr("Paths"));
  paths->say_if_empty(tr("No reading of the memory found a path to it."));
  tabs->addTab(paths, tr("Paths"));
  holders_layout->addWidget(tabs);
  dock_of_[kHolders] = add(tr("Holders"), holders, graph_, right);

  chart_ = new StoryView;
  auto* chart = new QScrollArea;
  chart->setWidget(chart_);
  chart->setWidgetResizable(true);
  chart->setFrameShape(QFrame::NoFrame);
  dock_of_[kChart] = add(tr("On one axis"), chart, chart_, right);

  const auto add_table = [&](Part part, const QString& title, TableModel& model, const QString& if_empty) {
    auto* table = new TableView(model, title, &window);
    table->say_if_empty(if_empty);
    table->setSortingEnabled(true);
    table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    dock_of_[part] = add(title, table, table, left);
    return table;
  };
  connect(add_table(kReleases, tr("Releases"), releases_, tr("No gathered parameter was released in this run.")),
          &QTableView::activated, this,
          [this](const QModelIndex& index) { emit sequence_picked(releases_.row_at(index.row()).id); });
  connect(add_table(kSurvivors, tr("Survivors"), survivors_,
                    tr("Nothing that a step made outlives it, or no step is known.")),
          &QTableView::activated, this, [this](const QModelIndex& index) {
            if (const qint64 storage = survivors_.row_at(index.row()).id; storage != 0) emit storage_picked(storage);
          });
  add_table(kSaved, tr("Saved for backward"), saved_,
            tr("Nothing was saved for a backward at the point of the live set, or no reading of the memory found it."));
  dock_of_[kSaved]->setWindowTitle(tr("Saved"));  // the name of its tab
  QWidget* addresses = address_box();
  dock_of_[kAddresses] = add(tr("Addresses"), addresses, addresses_, right);
  auto* run = new TableView(run_, tr("Run"), &window);
  dock_of_[kRun] = add(tr("Run"), run, run, left);
  QWidget* query = query_box();
  add(tr("SQL"), query, sql_, left);
}

QDockWidget* MorePanels::add(const QString& title, QWidget* widget, QWidget* focus, QDockWidget* beside) {
  auto* dock = new QDockWidget(title, &window_);
  dock->setObjectName(title);
  dock->setWidget(widget);
  window_.addDockWidget(Qt::BottomDockWidgetArea, dock);
  window_.tabifyDockWidget(beside, dock);
  docks_.emplace_back(dock, focus);
  connect(dock, &QDockWidget::visibilityChanged, this, [this, dock](bool seen) {
    for (unsigned part = 0; part < kParts; ++part) {
      if (seen && dock_of_[part] == dock) fill(static_cast<Part>(part));
    }
  });
  return dock;
}

std::pair<QDockWidget*, QWidget*> MorePanels::dock(const QString& title) const {
  for (const auto& each : docks_) {
    if (each.first->objectName() == title) return each;
  }
  return {nullptr, nullptr};
}

QWidget* MorePanels::address_box() {
  auto* box = new QWidget(&window_);
  auto* layout = new QVBoxLayout(box);
  layout->setContentsMargins(4, 4, 4, 0);
  addresses_title_ = plain_label(box);
  layout->addWidget(addresses_title_);
  auto* tabs = new QTabWidget(box);
  tabs->setDocumentMode(true);
  addresses_ = new AddressView;
  auto* scroll = new QScrollArea;
  scroll->setWidget(addresses_);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  tabs->addTab(scroll, tr("Map"));
  auto* table = new TableView(stretches_, tr("Address ranges"));
  table->setSortingEnabled(true);
  table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  tabs->addTab(table, tr("Ranges"));
  layout->addWidget(tabs);
  connect(addresses_, &AddressView::picked, this, &MorePanels::lifetime_picked);
  connect(table, &QTableView::activated, this, [this](const QModelIndex& index) {
    const qint64 first = stretches_.row_at(index.row()).id;
    if (first > 0) emit lifetime_picked(static_cast<scene::LifetimeId>(first - 1));
  });
  return box;
}

QWidget* MorePanels::query_box() {
  auto* split = new QSplitter(Qt::Horizontal, &window_);
  auto* left = new QWidget;
  auto* layout = new QVBoxLayout(left);
  layout->setContentsMargins(4, 4, 4, 4);
  sql_ = new QPlainTextEdit(QString::fromUtf8(kFirstQuestion));
  sql_->setAccessibleName(tr("SQL query"));
  sql_->setTabChangesFocus(true);
  auto* ask = new QPushButton(tr("Run (Ctrl+Enter)"));
  answer_title_ = plain_label(left);
  answer_title_->setText(tr("Tables and examples: docs/schema.md. The trace is only read."));
  layout->addWidget(sql_, 1);
  layout->addWidget(ask);
  layout->addWidget(answer_title_);
  split->addWidget(left);
  split->addWidget(new TableView(answer_, tr("Result")));
  split->setSizes({420, 680});
  const auto run = [this] { this->ask(sql_->toPlainText()); };
  connect(ask, &QPushButton::clicked, this, run);
  for (const int enter : {Qt::Key_Return, Qt::Key_Enter}) {
    auto* shortcut = new QShortcut(QKeySequence(Qt::CTRL | enter), sql_);
    shortcut->setContext(Qt::WidgetShortcut);
    connect(shortcut, &QShortcut::activated, this, run);
  }
  return split;
}

void MorePanels::ask(const QString& sql) {
  if (!shown_.session) return;
  answer_title_->setText(tr("running"));
  query_.start([this, file = shown_.file, sql = sql.toStdString()](const analyzer::Watch& watch) -> Background::Answer {
    auto result = load::run_query(file, sql, kMostAnswers, watch);
    return [this, result = std::move(result)] {
      QString line;
      if (result.ok()) {
        std::vector<TableModel::ColumnOf> columns;
        for (const std::string& name : result->columns) columns.push_back({words::text(name)});
        std::vector<TableModel::Row> rows;
        for (const auto& cells : result->rows) {
          TableModel::Row& row = rows.emplace_back();
          for (const std::string& cell : cells) row.cells.push_back(words::text(cell));
        }
        answer_.set_table(std::move(columns), std::move(rows));
        line = result->more ? tr("the first %1 rows").arg(result->rows.size()) : tr("%1 rows").arg(result->rows.size());
      } else {
        line = QString::fromStdString(result.error().message);
      }
      answer_title_->setText(line);
      emit answered(line);
    };
  });
}

void MorePanels::show(Shown shown) {
  const bool other_trace = shown.session != shown_.session;
  const bool other_selection = other_trace || shown.asked != shown_.asked || shown.storage != shown_.storage;
  const bool other_point = other_trace || shown.point != shown_.point;
  const bool other_device = shown.device != shown_.device;
  if (other_device) addresses_->show_stretches(nullptr, {});  // before the device is deleted
  shown_ = std::move(shown);
  if (other_selection) filled_[kHolders] = filled_[kChart] = false;
  if (other_point) filled_[kSaved] = false;
  if (other_point || other_device) filled_[kAddresses] = false;
  if (other_trace) {
    filled_[kReleases] = filled_[kSurvivors] = filled_[kRun] = false;
    query_.cancel();
  }
  for (unsigned part = 0; part < kParts; ++part) fill_if_seen(static_cast<Part>(part));
  mark_point();
  addresses_->set_selected(shown_.lifetime);
}

void MorePanels::mark_point() { chart_->set_point(static_cast<double>(shown_.point_ns - chart_begin_ns_)); }

void MorePanels::fill_if_seen(Part part) {
  // A dock behind another tab counts as visible, but no part of it is.
  if (dock_of_[part] != nullptr && !dock_of_[part]->visibleRegion().isEmpty()) fill(part);
}

void MorePanels::fill_all() {
  for (unsigned part = 0; part < kParts; ++part) fill(static_cast<Part>(part));
}

void MorePanels::fill_holders() {
  std::vector<scene::HolderNode> roots;
  std::vector<TableModel::Row> containers;
  std::vector<TableModel::Row> paths;
  QString title;
  const std::string asked = shown_.asked.empty() ? std::string(model::kAllHolders) : shown_.asked;
  const auto view = model::holders_view(shown_.session->path, shown_.session->analysis, asked);
  if (view.ok()) {
    roots = load::holder_tree(*view, kMostPathsDrawn);
    containers = words::containers(*view);
    paths = words::paths(*view);
    title = words::holders_title(*view);
  } else {
    title = QString::fromStdString(view.error().message);
  }
  holders_title_->setText(title);
  graph_->show_roots(std::move(roots));
  containers_.set_rows(std::move(containers));
  paths_.set_rows(std::move(paths));
}

void MorePanels::fill_chart() {
  scene::StoryChart chart;
  const load::Session& session = *shown_.session;
  const auto storage = model::storage_view(session.path, session.analysis, shown_.storage);
  if (shown_.storage.valid() && storage.ok()) {
    const std::string asked = "storage:" + std::to_string(shown_.storage.value);
    const auto holders = model::holders_view(session.path, session.analysis, asked);
    const scene::Recording& recording = session.devices.front()->recording();
    load::StoryOfStorage story = load::story_of(*storage, holders.ok() ? *holders : model::HoldersView{},
                                                recording.begin_ns(), recording.end_ns() - recording.begin_ns());
    chart = std::move(story.chart);
    chart_begin_ns_ = story.begin_ns;
  }
  chart_->show_story(std::move(chart));
  mark_point();
}

void MorePanels::fill_addresses() {
  std::vector<scene::StretchAt> stretches;
  const load::DeviceTimeline* device = shown_.device;
  if (device != nullptr && device->addresses() == nullptr) {
    addresses_title_->setText(tr("reading the addresses"));
    emit addresses_wanted();
  } else if (device != nullptr) {
    const load::ByAddress& of = *device->addresses();
    const scene::Unit unit = shown_.unit.value_or(device->document().curve->peak_at());
    std::optional<std::vector<scene::AddressStretch>> segments;
    if (device->has_segments()) segments = device->segments_at(unit);
    stretches = scene::stretches_at(device->recording(), of.addresses, of.stretches, unit, segments);
    addresses_title_->setText(stretches.empty() ? tr("No block's address is known.")
                                                : words::stretches_title(stretches));
  }
  stretches_.set_rows(words::stretches(stretches));
  addresses_->show_stretches(device, std::move(stretches));
  addresses_->set_selected(shown_.lifetime);
}

void MorePanels::addresses_read(const QString& why_not) {
  if (!why_not.isEmpty()) {
    addresses_title_->setText(why_not);
    return;
  }
  filled_[kAddresses] = false;
  fill_if_seen(kAddresses);
}

void MorePanels::fill(Part part) {
  if (!shown_.session || filled_[part]) return;
  filled_[part] = true;
  const load::Session& session = *shown_.session;
  switch (part) {
    case kHolders:
      fill_holders();
      break;
    case kChart:
      fill_chart();
      break;
    case kReleases:
      releases_.set_rows(words::releases(model::releases_view(session.path, session.analysis)));
      break;
    case kSurvivors:
      survivors_.set_rows(words::survivors(session.report));
      break;
    case kSaved: {
      const auto view = model::saved_view(session.path, session.analysis, shown_.point);
      saved_.set_rows(view.ok() ? words::saved(*view) : std::vector<TableModel::Row>{});
      break;
    }
    case kAddresses:
      fill_addresses();
      break;
    case kRun:
      run_.set_rows(words::run(session.report));
      break;
    case kParts:
      break;
  }
}

std::vector<std::pair<QString, const TableModel*>> MorePanels::tables() const {
  return {{QStringLiteral("containers"), &containers_},
          {QStringLiteral("paths"), &paths_},
          {QStringLiteral("releases"), &releases_},
          {QStringLiteral("survivors"), &survivors_},
          {QStringLiteral("saved"), &saved_},
          {QStringLiteral("addresses"), &stretches_},
          {QStringLiteral("run"), &run_},
          {QStringLiteral("answer"), &answer_}};
}

}  // namespace dcmt::gui
