// More than one trace in the window: the ranks of a run, a comparison, a trace that grows.
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>

#include <algorithm>

#include "gui/app/main_window.h"
#include "gui/models/run_words.h"
#include "gui/models/words.h"
#include "gui/widgets/strip_chart.h"
#include "gui/widgets/strip_panel.h"
#include "gui/widgets/table_view.h"
#include "gui/widgets/timeline.h"

namespace dcmt::gui {

void MainWindow::settle() {
  if (session_ && !opener_.busy() && !rank_work_.busy() && !compare_work_.busy()) emit settled();
}

void MainWindow::read_ranks() {
  std::vector<std::string> files;
  for (int i = 0; i < traces_->count(); ++i) files.push_back(traces_->itemData(i).toString().toStdString());
  if (files == rank_files_) {
    mark_point_of_ranks();
    return;
  }
  rank_work_.cancel();
  rank_files_ = files;
  rank_panel_->chart().show_strips(nullptr);
  ranks_.reset();
  ranks_table_.set_rows({});
  rank_differences_.set_rows({});
  ranks_dock_->hide();
  if (files.size() < 2) return;
  rank_work_.start([this, files](const analyzer::Watch& watch) -> Background::Answer {
    auto ranks = load::read_ranks(files, watch);
    return [this, ranks = std::move(ranks)] {
      if (ranks.ok()) {
        ranks_ = *ranks;
        rank_panel_->chart().show_strips(&ranks_->strips);
        ranks_table_.set_rows(words::ranks(*ranks_));
        rank_differences_.set_rows(words::rank_differences(*ranks_));
        ranks_dock_->show();
        mark_point_of_ranks();
        if (!ranks_->apart.empty()) {
          const analyzer::RankApart& first = ranks_->apart.front();
          QString in;
          for (const std::string& what : first.in)
            in += (in.isEmpty() ? QString() : QStringLiteral(", ")) + words::text(what);
          const std::size_t others = ranks_->apart.size() - 1;
          status_->setText(tr("rank %1 differs from most: %2").arg(first.rank).arg(in) +
                           (others > 0 ? tr("; so do %1 more").arg(others) : QString()));
          raise_dock(ranks_dock_);
        }
      } else {
        rank_differences_.set_rows({{{tr("not compared"), QString::fromStdString(ranks.error().message)}, {}, -1}});
      }
      settle();
    };
  });
}

void MainWindow::mark_point_of_ranks() {
  if (!ranks_) return;
  const std::size_t index = ranks_->index_of(file_);
  if (index == ranks_->paths.size() || device() == nullptr) {
    rank_panel_->chart().set_current(std::nullopt);
    rank_panel_->chart().set_point(std::nullopt);
    return;
  }
  rank_panel_->chart().set_current(index);
  std::optional<double> at;
  if (const auto point = selection_.point()) at = ranks_->axis_of(index, device()->recording().ns(*point));
  rank_panel_->chart().set_point(at);
}

QString MainWindow::compare_with(const QString& path) {
  if (!session_) return tr("no trace is open: open one, then compare it with an earlier one.");
  status_->setText(tr("reading %1").arg(path));
  compare_work_.start(
      [this, session = session_, path = path.toStdString()](const analyzer::Watch& watch) -> Background::Answer {
        auto comparison = load::compare_with(path, *session, watch);
        return [this, comparison = std::move(comparison)] {
          if (!comparison.ok()) {
            const QString why = QString::fromStdString(comparison.error().message);
            status_->setText(why);
            emit failed(why, comparison.error().code == ErrorCode::kNotComparable ? 5 : 3);
            return;
          }
          compare_panel_->chart().show_strips(nullptr);
          comparison_ = *comparison;
          compare_panel_->chart().show_strips(&comparison_->strips);
          difference_.set_rows(words::difference(*comparison_));
          raise_dock(compare_dock_);
          const analyzer::Difference& difference = comparison_->difference;
          status_->setText(difference.equal_runs() ? tr("no difference to %1").arg(words::text(comparison_->before))
                                                   : tr("compared with %1").arg(words::text(comparison_->before)));
          settle();
        };
      });
  return {};
}

void MainWindow::show_step(std::size_t index) {
  if (device() == nullptr) return;
  for (const analyzer::Step& step : session_->analysis.releases.steps) {
    if (!step.to.valid() || index-- > 0) continue;
    const scene::Unit from = device()->unit_of(step.from);
    const scene::Unit to = std::max(device()->unit_of(step.to), from + 1);
    selection_.select_point(device()->document().curve->column(from, to).highest_at);
    timeline_->fit(from, to);
    return;
  }
}

void MainWindow::read_again() {
  if (opener_.busy() || follow_work_.busy()) return;
  stamp_ = follower_.stamp();
  reading_.start();
  follow_work_.start([this, path = file_](const analyzer::Watch& watch) -> Background::Answer {
    auto session = load::open_session(path, watch);
    return [this, session = std::move(session)] {
      if (session.ok()) {
        follow_session(*session);
      } else {
        status_->setText(QString::fromStdString(session.error().message) + tr(" What was read before is shown."));
      }
    };
  });
}

void MainWindow::follow_moved(const QString& path) {
  if (opener_.busy()) return;
  const QString name = traces_->currentText();
  const bool one_trace = path_ == file_;
  if (!list_traces(one_trace ? path.toStdString() : path_)) return;  // other traces may have moved, too
  traces_->setCurrentIndex(std::max(0, traces_->findText(name)));
  file_ = traces_->currentData().toString().toStdString();
  follow_work_.cancel();  // it reads the file that is gone
  read_ranks();
  read_again();
}

void MainWindow::follow_session(const SessionPointer& session) {
  // State is kept by values that both loads have: sequence numbers, storages, numbers of findings.
  const load::DeviceTimeline* before = device();
  const std::string name(before != nullptr ? before->name() : "");
  const bool at_peak = selection_.point() == before->document().curve->peak_at();
  const auto point = selection_.point() ? std::optional(before->sequence_of(*selection_.point())) : std::nullopt;
  const auto storage =
      selection_.lifetime() ? std::optional(before->block_of(*selection_.lifetime()).storage) : std::nullopt;

  const bool by_address = before != nullptr && before->arrangement() == load::Arrangement::kAddress;
  const SessionPointer old = session_;  // until the timeline shows the new session
  put_in(session);
  const auto same = std::ranges::find_if(session_->devices, [&](const auto& each) { return each->name() == name; });
  put_device(same != session_->devices.end() ? static_cast<int>(same - session_->devices.begin()) : 0, true);
  if (storage) {
    if (const auto lifetime = device()->lifetime_of(*storage)) select_lifetime(lifetime);
  }
  if (point && !at_peak) selection_.select_point(device()->unit_of(*point));
  show_facts_of_run();
  if (by_address) read_addresses(true);
}

}  // namespace dcmt::gui
