// The window's commands. The table (commands.cpp) lists them with their keys.
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDockWidget>
#include <QDropEvent>
#include <QFileDialog>
#include <QFontDatabase>
#include <QInputDialog>
#include <QLabel>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QVBoxLayout>

#include <algorithm>

#include "gui/app/commands.h"
#include "gui/app/main_window.h"
#include "gui/app/more_panels.h"
#include "gui/widgets/palette.h"
#include "gui/widgets/strip_chart.h"
#include "gui/widgets/strip_panel.h"
#include "gui/widgets/table_view.h"
#include "gui/widgets/timeline.h"

namespace dcmt::gui {
namespace {

constexpr double kZoomStep = 1.25;
constexpr double kPanStep = 0.15;

}  // namespace

void MainWindow::choose_trace() {
  const QString path = QFileDialog::getOpenFileName(
      this, tr("Open a trace"), {}, tr("Traces (*.dcmt);;Memory snapshots of torch (*.pickle *.pkl);;All files (*)"));
  if (!path.isEmpty()) open(path);
}
void MainWindow::choose_other() {
  const QString path =
      QFileDialog::getOpenFileName(this, tr("Compare with an earlier trace"), {}, tr("Traces (*.dcmt);;All files (*)"));
  if (path.isEmpty()) return;
  if (const QString why = compare_with(path); !why.isEmpty()) status_->setText(why);
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
  } else if (const auto all = device()->lifetimes_of(selection_.finding()); !all.empty()) {
    const std::vector<scene::Lifetime>& lifetimes = device()->recording().lifetimes();
    scene::Unit to = 0;
    for (const scene::LifetimeId each : all) to = std::max(to, lifetimes[each].to);
    timeline_->fit(lifetimes[all.front()].from, to);
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

void MainWindow::next_trace() {
  if (traces_->count() > 1) open_file((traces_->currentIndex() + 1) % traces_->count());
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
  if (device() != nullptr) selection_.select_point(device()->document().curve->peak_at());
}

void MainWindow::go_to() {
  bool ok = false;
  const QString at = QInputDialog::getText(this, tr("Go to a point"),
                                           tr("peak, exit, end, oom, step:7, mark:NAME or a sequence number"),
                                           QLineEdit::Normal, QStringLiteral("peak"), &ok);
  if (!ok) return;
  if (const QString why = show_point(at); !why.isEmpty()) status_->setText(why);
}

QString MainWindow::find_text(const QString& text) {
  if (device() == nullptr) return tr("no trace is open.");
  bool is_number = false;
  const qlonglong number = text.toLongLong(&is_number);
  if (is_number) return select(QStringLiteral("storage:%1").arg(number));
  matches_ = device()->find(text.toStdString());
  if (matches_.empty()) return tr("no bar has '%1' in its operator or source line.").arg(text);
  match_ = matches_.size() - 1;
  step_match(1);
  return {};
}

void MainWindow::find() {
  bool ok = false;
  const QString text = QInputDialog::getText(
      this, tr("Find"), tr("part of an operator's name or of a source line, or a storage's number"), QLineEdit::Normal,
      {}, &ok);
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

void MainWindow::point_here() {
  if (device() == nullptr) return;
  const bool selected = selection_.lifetime() && !timeline_->underMouse();
  selection_.select_point(selected ? device()->recording().lifetimes()[*selection_.lifetime()].from
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
  for (const TableView* table : findChildren<TableView*>()) {
    if (!table->hasFocus()) continue;
    QApplication::clipboard()->setText(table->selected_text());
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

void MainWindow::raise_dock(QDockWidget* panel) {
  panel->show();
  panel->raise();
  give_room(panel);
}

void MainWindow::give_room(QDockWidget* panel) {
  constexpr int kLow = 240;
  constexpr int kHigh = 330;
  const bool graph = panel == more_->dock(tr("Holders")).first || panel == more_->dock(tr("On one axis")).first;
  const bool map = panel == more_->dock(tr("Addresses")).first;
  if (panel == ranks_dock_ || panel == compare_dock_) {
    resizeDocks({panel, story_panel_}, {1000, 380}, Qt::Horizontal);
  } else if (graph) {
    resizeDocks({live_panel_, panel}, {500, 900}, Qt::Horizontal);
  }
  if ((graph || map) && panel->height() < kLow) resizeDocks({panel}, {kHigh}, Qt::Vertical);
}

void MainWindow::raise_panel(QDockWidget* panel, QWidget* focus) {
  raise_dock(panel);
  focus->setFocus(Qt::ShortcutFocusReason);
}
void MainWindow::show_findings() { raise_panel(finding_panel_, finding_table_); }
void MainWindow::show_selection() { raise_panel(fact_panel_, fact_table_); }
void MainWindow::show_story() { raise_panel(story_panel_, story_table_); }
void MainWindow::show_live_set() { raise_panel(live_panel_, live_table_); }
void MainWindow::show_timeline() { timeline_->setFocus(Qt::ShortcutFocusReason); }

void MainWindow::show_ranks() {
  if (ranks_) raise_panel(ranks_dock_, &rank_panel_->chart());
}
void MainWindow::show_comparison() {
  if (comparison_) raise_panel(compare_dock_, compare_panel_->tables()[0]);
}

void MainWindow::raise_more(const QString& title) {
  const auto [dock, focus] = more_->dock(title);
  if (dock != nullptr) raise_panel(dock, focus);
}
void MainWindow::show_holders() { raise_more(tr("Holders")); }
void MainWindow::show_chart() { raise_more(tr("On one axis")); }
void MainWindow::show_releases() { raise_more(tr("Releases")); }
void MainWindow::show_survivors() { raise_more(tr("Survivors")); }
void MainWindow::show_saved() { raise_more(tr("Saved for backward")); }
void MainWindow::show_run() { raise_more(tr("Run")); }
void MainWindow::show_addresses() { raise_more(tr("Addresses")); }
void MainWindow::show_sql() { raise_more(tr("SQL")); }

QString MainWindow::show_panel(const QString& name) {
  QStringList names;
  for (QDockWidget* dock : findChildren<QDockWidget*>()) {
    if (dock->objectName().startsWith(name, Qt::CaseInsensitive)) {
      raise_dock(dock);
      return {};
    }
    names << dock->objectName().toLower();
  }
  return tr("no panel '%1'; there are %2.").arg(name, names.join(QStringLiteral(", ")));
}

void MainWindow::next_pane() {
  std::vector<QWidget*> panes{timeline_,
                              finding_table_,
                              fact_table_,
                              story_table_,
                              live_table_,
                              &rank_panel_->chart(),
                              rank_panel_->tables()[0],
                              rank_panel_->tables()[1],
                              &compare_panel_->chart(),
                              compare_panel_->tables()[0]};
  for (const auto& [dock, focus] : more_->docks()) panes.push_back(focus);
  std::size_t at = panes.size() - 1;
  for (std::size_t i = 0; i < panes.size(); ++i) {
    if (panes[i]->hasFocus()) at = i;
  }
  for (std::size_t i = 1; i <= panes.size(); ++i) {
    QWidget* next = panes[(at + i) % panes.size()];
    if (next->visibleRegion().isEmpty()) continue;  // it is behind another tab
    next->setFocus(Qt::ShortcutFocusReason);
    return;
  }
}

void MainWindow::toggle_panels() {
  const bool shown = finding_panel_->isVisible() || live_panel_->isVisible();
  for (QDockWidget* panel : {finding_panel_, fact_panel_, story_panel_, live_panel_}) panel->setVisible(!shown);
  for (const auto& [dock, focus] : more_->docks()) dock->setVisible(!shown);
  ranks_dock_->setVisible(!shown && ranks_);
  compare_dock_->setVisible(!shown && comparison_);
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
