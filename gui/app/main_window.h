// The main window: the timeline, its panels, and the commands that connect them.
#pragma once

#include <QElapsedTimer>
#include <QMainWindow>

#include <memory>
#include <string>
#include <vector>

#include "gui/models/background.h"
#include "gui/models/finding_model.h"
#include "gui/models/follower.h"
#include "gui/models/link.h"
#include "gui/models/opener.h"
#include "gui/models/selection.h"
#include "gui/models/what_if.h"
#include "render/load/comparison.h"
#include "render/load/file_stamp.h"
#include "render/load/ranks.h"

class QComboBox;
class QDockWidget;
class QLabel;
class QProgressBar;
class QToolButton;

namespace dcmt::gui {

class MorePanels;
class StripPanel;
class TableView;
class Timeline;

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);
  ~MainWindow() override;

  /// Opens a trace, a memory snapshot of torch, or a folder of traces. Of a folder, the first trace is shown, and all
  /// of them in a comparison. The current trace stays until the new one is loaded.
  void open(const QString& path);
  /// Opens another trace, or a run's folder, for a comparison. Returns an error; empty: it is being loaded.
  QString compare_with(const QString& path);
  /// Shows a point in the form of `show live --at`: "peak", "exit", "step:7", "mark:NAME", a sequence number. Returns
  /// an error; empty: it is shown.
  QString show_point(const QString& at);
  /// Selects "finding:1" or "storage:417". Returns an error; empty: it is selected.
  QString select(const QString& what);

  /// Selects the first bar with that text in its operator or site, or the storage of that number. Returns an error;
  /// empty: there is one.
  QString find_text(const QString& text);
  /// A link to the current view. It opens the same view wherever the trace exists at that path.
  [[nodiscard]] Link link() const;
  /// Shows the view of a link to the open trace. Returns an error; empty: it is shown.
  QString show_link(const Link& link);
  /// Stores the window's position, its panels and the recent files for the next start.
  void keep_state();
  /// Shows the panel whose name begins with "holders" or the like. Returns an error; empty: it is shown.
  QString show_panel(const QString& name);
  /// Groups the area and the live set, by "site" or the like. Returns an error; empty: they are grouped.
  QString group_by(const QString& name);
  /// Arranges the lifetimes by "address" or "kind". Waits until the addresses are loaded. Returns an error; empty: they
  /// are arranged.
  QString arrange(const QString& name);
  /// Loads the addresses, and with `arrange` also what arranging needs. Returns an error; empty: they are loaded.
  QString read_addresses_now(bool arrange);

  [[nodiscard]] const SessionPointer& session() const { return session_; }
  [[nodiscard]] Timeline& timeline() { return *timeline_; }
  [[nodiscard]] std::vector<std::pair<QString, const TableModel*>> tables() const;
  [[nodiscard]] const Selection& selection() const { return selection_; }
  [[nodiscard]] QString message() const;
  [[nodiscard]] StripPanel& rank_panel() { return *rank_panel_; }
  [[nodiscard]] StripPanel& compare_panel() { return *compare_panel_; }
  [[nodiscard]] const load::Ranks* ranks() const { return ranks_.get(); }
  [[nodiscard]] const load::Comparison* comparison() const { return comparison_.get(); }
  [[nodiscard]] MorePanels& more() { return *more_; }
  [[nodiscard]] Follower& follower() { return follower_; }
  /// Milliseconds from the window's creation until a part of a trace was visible, and all of it. -1: not yet.
  [[nodiscard]] std::pair<qint64, qint64> timing() const { return {first_paint_ms_, complete_ms_}; }

  // The commands (commands.cpp).
  void choose_trace();
  void choose_other();
  void reload();
  void choose_picture();
  void choose_recent();
  void copy_link();
  void quit();
  void zoom_in();
  void zoom_out();
  void pan_left();
  void pan_right();
  void rows_up();
  void rows_down();
  void fit_selection();
  void whole_run();
  void view_before();
  void view_after();
  void toggle_axis();
  void next_grouping();
  void toggle_arrangement();
  void next_device();
  void next_trace();
  void next_finding();
  void previous_finding();
  void go_to_peak();
  void go_to();
  void find();
  void next_match();
  void previous_match();
  void next_in_lane();
  void previous_in_lane();
  void lane_above();
  void lane_below();
  void point_here();
  void clear_selection();
  void copy();
  void tick_finding();
  void show_findings();
  void show_selection();
  void show_story();
  void show_live_set();
  void show_timeline();
  void show_ranks();
  void show_comparison();
  void show_holders();
  void show_releases();
  void show_survivors();
  void show_saved();
  void show_run();
  void show_addresses();
  void show_sql();
  void show_chart();
  void next_pane();
  void toggle_panels();
  void show_palette();
  void show_keys();

 signals:
  void opened();
  void failed(const QString& why, int exit_code);
  void what_if_shown();
  /// Everything requested is shown: the trace, its ranks, the comparison.
  void settled();

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;

 private:
  void make_panels();
  void make_actions();
  QDockWidget* add_panel(const QString& title, QWidget* widget, Qt::DockWidgetArea area);
  void add_strip_panels();
  /// Fills the list of traces. False if there is none, which a message says.
  bool list_traces(const std::string& path);
  void open_file(int index);
  void show_session(const SessionPointer& session);
  void follow_session(const SessionPointer& session);
  void put_in(const SessionPointer& session);
  void show_facts_of_run();
  void read_ranks();
  /// Loads addresses in the background. With `arrange`, the lifetimes are arranged by them then.
  void read_addresses(bool arrange);
  void put_addresses(const Expected<std::shared_ptr<load::ByAddress>>& read);
  void put_arrangement(load::Arrangement arrangement);
  void read_again();
  /// The recorder has moved the trace that is shown.
  void follow_moved(const QString& path);
  void mark_point_of_ranks();
  void settle();
  void note_recent();
  /// Shows the peak of the n-th step that ended.
  void show_step(std::size_t index);
  void show_device(int index);
  void put_device(int index, bool follow);
  void show_selected();
  void show_live();
  void show_grouping();
  void select_beside(int right, int down);
  void select_lifetime(std::optional<scene::LifetimeId> lifetime);
  void step_finding(int by);
  void step_match(int by);
  void raise_dock(QDockWidget* panel);
  /// Enlarges a panel with a picture, which needs more space than a few rows.
  void give_room(QDockWidget* panel);
  void raise_panel(QDockWidget* panel, QWidget* focus);
  void raise_more(const QString& title);
  void show_more();
  [[nodiscard]] load::DeviceTimeline* device() const;
  [[nodiscard]] std::string point_text() const;

  QElapsedTimer age_;
  qint64 first_paint_ms_ = -1, complete_ms_ = -1;
  SessionPointer session_;
  std::size_t device_ = 0;
  std::vector<scene::LifetimeId> matches_;
  std::size_t match_ = 0;
  std::string path_;  ///< the path that was opened last
  bool keeps_state_ = false;
  std::string file_;       ///< of the session
  load::FileStamp stamp_;  ///< of the file that is being opened, from before it is read
  QElapsedTimer reading_;
  std::shared_ptr<const load::Ranks> ranks_;
  std::shared_ptr<const load::Comparison> comparison_;
  std::vector<std::string> rank_files_;  ///< files of `ranks_`, or of the ranks that are being loaded
  Opener opener_;
  Background rank_work_, compare_work_, follow_work_, address_work_;
  bool arrange_when_read_ = false;
  Follower follower_;
  WhatIf what_if_;
  Selection selection_;

  FindingModel findings_;
  TableModel facts_, story_, live_, ranks_table_, rank_differences_, difference_;
  Timeline* timeline_ = nullptr;
  TableView *finding_table_ = nullptr, *fact_table_ = nullptr, *story_table_ = nullptr, *live_table_ = nullptr;
  QDockWidget *finding_panel_ = nullptr, *fact_panel_ = nullptr, *story_panel_ = nullptr, *live_panel_ = nullptr,
              *ranks_dock_ = nullptr, *compare_dock_ = nullptr;
  MorePanels* more_ = nullptr;
  StripPanel *rank_panel_ = nullptr, *compare_panel_ = nullptr;
  QComboBox *devices_ = nullptr, *traces_ = nullptr, *groupings_ = nullptr, *live_by_ = nullptr;
  QLabel *live_title_ = nullptr, *status_ = nullptr, *headline_ = nullptr;
  QWidget* legend_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QToolButton* cancel_ = nullptr;
};

/// The groupings of the area: those that stay the same while a block lives.
[[nodiscard]] const std::vector<analyzer::GroupName>& area_groupings();

}  // namespace dcmt::gui
