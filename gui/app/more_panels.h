// Panels that are asked for: holders, releases, survivors, what autograd saved, the run, questions in SQL. Each is
// filled when it is seen, with what is selected then.
#pragma once

#include <QDockWidget>
#include <QMainWindow>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gui/models/background.h"
#include "gui/models/opener.h"
#include "gui/models/table_model.h"

class QLabel;
class QPlainTextEdit;
class QTabWidget;

namespace dcmt::gui {

class AddressView;
class HolderGraph;
class StoryView;
class TableView;

/// What the window shows.
struct Shown {
  SessionPointer session;
  std::string file;                              ///< that the session was read from
  std::string asked;                             ///< "finding:1", "storage:7"; empty: nothing is selected
  std::string point;                             ///< of the live set
  StorageId storage;                             ///< that is selected, or an example of the finding that is; zero: none
  std::int64_t point_ns = 0;                     ///< the same point after the start of the trace
  const load::DeviceTimeline* device = nullptr;  ///< of the session
  std::optional<scene::Unit> unit;               ///< the same point
  std::optional<scene::LifetimeId> lifetime;     ///< that is selected
};

class MorePanels : public QObject {
  Q_OBJECT

 public:
  /// @param left, right  panels that these become tabs of
  MorePanels(QMainWindow& window, QDockWidget* left, QDockWidget* right);

  void show(Shown shown);
  /// The window goes: what becomes visible of what is left is filled no more.
  void stop() { shown_ = {}; }
  /// Also those that are not seen.
  void fill_all();
  /// They are there now, or why not.
  void addresses_read(const QString& why_not);
  /// One statement, as typed into the box. Its answer comes later: `answered`.
  void ask(const QString& sql);

  [[nodiscard]] std::vector<std::pair<QString, const TableModel*>> tables() const;
  [[nodiscard]] const std::vector<std::pair<QDockWidget*, QWidget*>>& docks() const { return docks_; }
  /// With the widget that has the focus; nullptr: there is none of that name.
  [[nodiscard]] std::pair<QDockWidget*, QWidget*> dock(const QString& title) const;
  [[nodiscard]] HolderGraph& graph() { return *graph_; }
  [[nodiscard]] StoryView& chart() { return *chart_; }
  [[nodiscard]] AddressView& addresses() { return *addresses_; }
  [[nodiscard]] bool busy() const { return query_.busy(); }

 signals:
  void storage_picked(qint64 storage);
  void sequence_picked(qint64 seq);
  void lifetime_picked(dcmt::gui::scene::LifetimeId lifetime);
  /// Somebody sees the map of addresses, and they are not read.
  void addresses_wanted();
  void answered(const QString& line);

 private:
  enum Part : unsigned { kHolders, kChart, kReleases, kSurvivors, kSaved, kAddresses, kRun, kParts };

  QDockWidget* add(const QString& title, QWidget* widget, QWidget* focus, QDockWidget* beside);
  void fill(Part part);
  void fill_holders();
  void fill_chart();
  QWidget* address_box();
  void fill_addresses();
  void mark_point();
  void fill_if_seen(Part part);
  QWidget* query_box();

  QMainWindow& window_;
  Shown shown_;
  bool filled_[kParts] = {};
  QDockWidget* dock_of_[kParts] = {};
  std::vector<std::pair<QDockWidget*, QWidget*>> docks_;

  TableModel containers_, paths_, releases_, survivors_, saved_, stretches_, run_, answer_;
  HolderGraph* graph_ = nullptr;
  StoryView* chart_ = nullptr;
  std::int64_t chart_begin_ns_ = 0;
  QLabel* holders_title_ = nullptr;
  AddressView* addresses_ = nullptr;
  QLabel* addresses_title_ = nullptr;
  QPlainTextEdit* sql_ = nullptr;
  QLabel* answer_title_ = nullptr;
  Background query_;
};

}  // namespace dcmt::gui
