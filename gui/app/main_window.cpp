#include "gui/app/main_window.h"

#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QProgressBar>
#include <QToolButton>

#include <algorithm>

#include "gui/app/more_panels.h"
#include "gui/models/run_words.h"
#include "gui/models/words.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/strip_chart.h"
#include "gui/widgets/strip_panel.h"
#include "gui/widgets/table_view.h"
#include "gui/widgets/timeline.h"
#include "render/load/hold_arrows.h"

namespace dcmt::gui {

const std::vector<analyzer::GroupName>& area_groupings() {
  static const std::vector<analyzer::GroupName> all = [] {
    std::vector<analyzer::GroupName> names;
    for (const analyzer::GroupName& name : analyzer::kGroupNames) {
      if (name.by != analyzer::GroupBy::kOrigin) names.push_back(name);
    }
    return names;
  }();
  return all;
}

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent),
      facts_({{tr("property")}, {tr("value")}}),
      story_({{tr("seq"), true}, {tr("after start"), true}, {tr("what")}, {tr("by")}}),
      live_({{tr("bytes"), true}, {tr("share"), true}, {tr("blocks"), true}, {tr("name")}}),
      ranks_table_(words::rank_columns()),
      rank_differences_({{tr("what")}, {tr("difference")}}),
      difference_(words::difference_columns()) {
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
  connect(&follower_, &Follower::said, this, [this](const QString& line) {
    status_->setText(QStringLiteral("%1: %2").arg(traces_->currentText(), line));
  });
  connect(&follower_, &Follower::grown, this, &MainWindow::read_again);
  connect(&follower_, &Follower::moved, this, &MainWindow::follow_moved);
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
  connect(&selection_, &Selection::point_changed, this, [this] {
    timeline_->set_point(selection_.point());
    mark_point_of_ranks();
    show_live();
    show_more();
  });
  connect(timeline_, &Timeline::picked, this, &MainWindow::select_lifetime);
  connect(timeline_, &Timeline::point_picked, this, [this](scene::Unit unit) { selection_.select_point(unit); });
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

MainWindow::~MainWindow() {
  more_->stop();
  // The window is closing: it must not react when the remaining docks become visible.
  for (QDockWidget* dock : findChildren<QDockWidget*>()) dock->disconnect(this);
}

load::DeviceTimeline* MainWindow::device() const {
  return session_ && device_ < session_->devices.size() ? session_->devices[device_].get() : nullptr;
}

QString MainWindow::message() const { return status_->text(); }

std::vector<std::pair<QString, const TableModel*>> MainWindow::tables() const {
  std::vector<std::pair<QString, const TableModel*>> all{
      {QStringLiteral("findings"), &findings_},    {QStringLiteral("selection"), &facts_},
      {QStringLiteral("story"), &story_},          {QStringLiteral("live"), &live_},
      {QStringLiteral("ranks"), &ranks_table_},    {QStringLiteral("rank_differences"), &rank_differences_},
      {QStringLiteral("comparison"), &difference_}};
  const auto more = more_->tables();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

bool MainWindow::list_traces(const std::string& path) {
  const Expected<std::vector<std::string>> files = load::traces_of(path);
  if (!files.ok()) {
    status_->setText(QString::fromStdString(files.error().message));
    emit failed(QString::fromStdString(files.error().message), 3);
    return false;
  }
  path_ = path;
  traces_->clear();
  for (const std::string& file : *files) {
    traces_->addItem(QString::fromStdString(file.substr(file.rfind('/') + 1)), QString::fromStdString(file));
  }
  return true;
}

void MainWindow::open(const QString& path) {
  if (list_traces(path.toStdString())) open_file(0);
}

void MainWindow::open_file(int index) {
  if (!load::stamp_of(traces_->itemData(index).toString().toStdString()).there) {
    const QString name = traces_->itemText(index);
    if (!list_traces(path_)) return;  // the recorder may have moved the trace
    index = std::max(0, traces_->findText(name));
  }
  traces_->setCurrentIndex(index);
  const std::string file = traces_->itemData(index).toString().toStdString();
  status_->setText(tr("reading %1").arg(traces_->itemText(index)));
  follower_.stop();
  follow_work_.cancel();
  stamp_ = load::stamp_of(file);
  reading_.start();
  opener_.open(file);
}

void MainWindow::put_in(const SessionPointer& session) {
  session_ = session;
  file_ = traces_->currentData().toString().toStdString();
  setWindowTitle(words::text(session_->path) + tr(" - dc-memtrace"));
  devices_->clear();
  for (const auto& each : session_->devices) devices_->addItem(words::text(each->name()));
  const bool growing = session_->report.facts.state == "recording";
  follower_.watch(file_, stamp_, growing, reading_.elapsed());
}

void MainWindow::show_session(const SessionPointer& session) {
  progress_->setVisible(false);
  cancel_->setVisible(false);
  timeline_->show_device(nullptr);  // before the device is deleted
  put_in(session);
  show_device(0);
  show_facts_of_run();
  read_ranks();
  complete_ms_ = age_.elapsed();
  note_recent();
  emit opened();
  settle();
}

void MainWindow::show_facts_of_run() {
  const std::size_t findings = session_->report.findings.size();
  const analyzer::RunFacts& facts = session_->report.facts;
  status_->setText((facts.state == "recording" ? tr("recording, %1 steps so far · ").arg(facts.steps) : QString()) +
                   tr("%1 · %2 lost")
                       .arg(findings == 0   ? tr("no finding")
                            : findings == 1 ? tr("1 finding")
                                            : tr("%1 findings").arg(findings))
                       .arg(facts.lost));
}

void MainWindow::show_device(int index) { put_device(index, false); }

void MainWindow::put_device(int index, bool follow) {
  if (!session_ || index < 0 || static_cast<std::size_t>(index) >= session_->devices.size()) return;
  device_ = static_cast<std::size_t>(index);
  matches_.clear();
  address_work_.cancel();
  arrange_when_read_ = false;
  devices_->setCurrentIndex(index);
  what_if_.drop();
  selection_.clear();
  if (follow) {
    timeline_->follow_device(device());
  } else {
    timeline_->show_device(device());
  }
  const model::DevicePeak& peak = device()->peak();
  findings_.set_findings(session_->report, peak);
  if (device()->shown() != nullptr) findings_.set_ticked(device()->shown()->findings);
  headline_->setText(QStringLiteral("   ") + words::text(device()->document().peak_text) +
                     (peak.dead_bytes.value > 0
                          ? tr(" · dead but held %1 · without: %2")
                                .arg(words::bytes(peak.dead_bytes.value), words::bytes(peak.predicted_bytes.value))
                          : QString()));
  show_grouping();
  selection_.select_point(device()->document().curve->peak_at());
  if (findings_.rowCount() > 0) {
    finding_table_->setCurrentIndex(findings_.index(0, 0));  // the most important one
  } else {
    show_selected();
  }
}

void MainWindow::show_grouping() {
  if (device() == nullptr) return;
  const analyzer::GroupBy by = area_groupings()[static_cast<std::size_t>(std::max(0, groupings_->currentIndex()))].by;
  // Not while a thread reads the groups: they are set when it is done.
  if (by != device()->stacked_by() && !address_work_.busy()) device()->stack_by(by);
  static_cast<Legend*>(legend_)->show_groups(device()->document().groups, device()->document().without != nullptr,
                                             !device()->document().reserved.empty());
  timeline_->refresh();
}

void MainWindow::show_selected() {
  std::vector<TableModel::Row> facts;
  std::vector<TableModel::Row> story;
  const std::optional<scene::LifetimeId> lifetime = selection_.lifetime();
  QString spoken;
  QString title = tr("Story");
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
    const auto finding =
        std::find_if(session_->report.findings.begin(), session_->report.findings.end(),
                     [&](const model::ReportedFinding& each) { return each.number == selection_.finding(); });
    if (finding != session_->report.findings.end()) {
      const std::vector<TableModel::Row> more = words::facts(*finding, session_->report);
      facts.insert(facts.end(), more.begin(), more.end());
    }
    if (facts.empty()) facts = words::facts(device()->peak(), session_->report);
    // For a whole finding, the story of one of its storages is an example.
    if (const auto of = device()->lifetimes_of(selection_.finding()); !lifetime && !of.empty()) {
      const StorageId storage = device()->block_of(of.front()).storage;
      if (const auto view = model::storage_view(session_->path, session_->analysis, storage); view.ok()) {
        story = words::story(*view);
        title = tr("Story, e.g. of %1").arg(storage.value);
      }
    }
    for (const TableModel::Row& row : facts)
      spoken += row.cells[0] + QStringLiteral(": ") + row.cells[1] + QStringLiteral("; ");
  }
  facts_.set_rows(std::move(facts));
  story_.set_rows(std::move(story));
  story_panel_->setWindowTitle(title);
  std::vector<scene::HoldArrow> arrows;
  if (device() != nullptr)
    arrows = load::hold_arrows(*device(), session_->holds,
                               lifetime ? std::vector{*lifetime} : device()->lifetimes_of(selection_.finding()));
  timeline_->set_selected(lifetime, std::move(arrows));
  timeline_->setAccessibleDescription(spoken);
  show_more();
  const int row = findings_.row_of(selection_.finding());
  if (row >= 0 && finding_table_->currentIndex().row() != row) finding_table_->setCurrentIndex(findings_.index(row, 0));
}

void MainWindow::show_more() {
  Shown shown{session_, file_, {}, {}, {}, 0, device(), selection_.point(), selection_.lifetime()};
  if (device() != nullptr) {
    shown.point = point_text();
    if (const auto point = selection_.point())
      shown.point_ns = device()->recording().ns(*point) - device()->recording().begin_ns();
    if (selection_.lifetime()) {
      shown.storage = device()->block_of(*selection_.lifetime()).storage;
    } else if (const auto lifetimes = device()->lifetimes_of(selection_.finding()); !lifetimes.empty()) {
      shown.storage = device()->block_of(lifetimes.front()).storage;
    }
    if (selection_.finding() > 0) {
      shown.asked = "finding:" + std::to_string(selection_.finding());
    } else if (selection_.lifetime()) {
      shown.asked = "storage:" + std::to_string(device()->block_of(*selection_.lifetime()).storage.value);
    }
  }
  more_->show(std::move(shown));
}

std::string MainWindow::point_text() const {
  return selection_.point() ? std::to_string(device()->sequence_of(*selection_.point()).value) : "peak";
}

void MainWindow::show_live() {
  std::vector<TableModel::Row> rows;
  if (device() != nullptr && selection_.point()) {
    const auto by = analyzer::kGroupNames[static_cast<std::size_t>(std::max(0, live_by_->currentIndex()))].by;
    const Expected<Sequence> seq = model::point_named(session_->path, session_->analysis, point_text());
    if (seq.ok()) {
      const model::LiveSet live(session_->data.get(), &session_->analysis.phases, device()->device().device, *seq);
      rows = words::groups(live.by(by));
      const std::int64_t ns = device()->recording().ns(*selection_.point()) - device()->recording().begin_ns();
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
    finding = device()->finding_of(*lifetime);
    timeline_->reveal(*lifetime);
  }
  selection_.select_lifetime(lifetime, finding);
}

QString MainWindow::show_point(const QString& at) {
  if (!session_) return tr("no trace is open.");
  const Expected<Sequence> seq = model::point_named(session_->path, session_->analysis, at.toStdString());
  if (!seq.ok()) return QString::fromStdString(seq.error().message);
  selection_.select_point(device()->unit_of(*seq));
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

}  // namespace dcmt::gui
