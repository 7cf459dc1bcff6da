// Panels on demand: holders, releases, survivors, what autograd saved, the run, SQL queries. Each is filled when it is
// shown, according to the current selection.
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

/// The state of the window that the panels depend on.
struct Shown {
  SessionPointer session;
  std::string file;                              ///< the file of the session
  std::string asked;                             ///< the selection, "finding:1", "storage:7"; empty: nothing
  std::string point;                             ///< the point of the live set
  StorageId storage;                             ///< the selected one, or an example of the selected finding; zero: no
  std::int64_t point_ns = 0;                     ///< the time of `point` after the start of the trace
  const load::DeviceTimeline* device = nullptr;  ///< of the session
  std::optional<scene::Unit> unit;               ///< the unit of `point`
  std::optional<scene::LifetimeId> lifetime;     ///< the selected one
};

class MorePanels : public QObject {
  Q_OBJECT

 public:
  /// @param left, right  panels to which these are added as tabs
  MorePanels(QMainWindow& window, QDockWidget* left, QDockWidget* right);

  void show(Shown shown);
  /// To be called when the window closes: panels that become visible are not filled any more.
  void stop() { shown_ = {}; }
  /// Also fills panels that are hidden.
  void fill_all();
  /// Addresses were loaded, or could not be for this reason.
  void addresses_read(const QString& why_not);
  /// Runs one statement, as typed into the box. The result comes later: `answered`.
  void ask(const QString& sql);

  [[nodiscard]] std::vector<std::pair<QString, const TableModel*>> tables() const;
  [[nodiscard]] const std::vector<std::pair<QDockWidget*, QWidget*>>& docks() const { return docks_; }
  /// The dock with that title, and its widget for the focus; nullptr if there is none.
  [[nodiscard]] std::pair<QDockWidget*, QWidget*> dock(const QString& title) const;
  [[nodiscard]] HolderGraph& graph() { return *graph_; }
  [[nodiscard]] StoryView& chart() { return *chart_; }
  [[nodiscard]] AddressView& addresses() { return *addresses_; }
  [[nodiscard]] bool busy() const { return query_.busy(); }

 signals:
  void storage_picked(qint64 storage);
  void sequence_picked(qint64 seq);
  void lifetime_picked(dcmt::scene::LifetimeId lifetime);
  /// The address map is visible, and the addresses are not loaded.
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
