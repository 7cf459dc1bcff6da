// State that outlives a view: links, recent files, the window's position and panels.
#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QComboBox>
#include <QDockWidget>
#include <QFileInfo>
#include <QLabel>
#include <QSettings>

#include "gui/app/main_window.h"
#include "gui/models/words.h"
#include "gui/widgets/palette.h"
#include "gui/widgets/timeline.h"

namespace dcmt::gui {
namespace {

constexpr int kMostRecent = 12;
const QString kRecent = QStringLiteral("recent");
const QString kGeometry = QStringLiteral("geometry");
const QString kPanels = QStringLiteral("panels");
/// Changes whenever panels are added or removed: the stored state of another version is ignored.
constexpr int kPanelsVersion = 3;

QSettings settings() { return QSettings(QStringLiteral("dc-memtrace"), QStringLiteral("view")); }

}  // namespace

Link MainWindow::link() const {
  Link link;
  link.path = QFileInfo(QString::fromStdString(file_)).absoluteFilePath();
  if (device() == nullptr) return link;
  link.device = words::text(device()->name());
  const scene::View& view = *timeline_->view();
  link.events = view.axis() == scene::Axis::kEvents;
  if (!view.whole()) {
    link.from = device()->sequence_of(view.unit_of(device()->recording(), view.from())).value;
    link.to = device()->sequence_of(view.unit_of(device()->recording(), view.to())).value;
  }
  if (selection_.lifetime()) {
    link.select = QStringLiteral("storage:%1").arg(device()->block_of(*selection_.lifetime()).storage.value);
  } else if (selection_.finding() > 0) {
    link.select = QStringLiteral("finding:%1").arg(selection_.finding());
  }
  link.at = QString::fromStdString(point_text());
  link.by = groupings_->currentText();
  if (device()->arrangement() == load::Arrangement::kAddress) link.arrange = QStringLiteral("address");
  QList<qint64> ticked;
  for (const std::int64_t finding : findings_.ticked()) ticked << finding;
  link.ticked = ticked;
  return link;
}

QString MainWindow::show_link(const Link& link) {
  if (!session_) return tr("no trace is open.");
  if (!link.device.isEmpty()) {
    const int index = devices_->findText(link.device);
    if (index < 0) return tr("no device %1 in this trace.").arg(link.device);
    show_device(index);
  }
  if (!link.by.isEmpty()) {
    if (const QString why = group_by(link.by); !why.isEmpty()) return why;
  }
  if (!link.arrange.isEmpty()) {
    if (const QString why = arrange(link.arrange); !why.isEmpty()) return why;
  }
  if (!link.at.isEmpty()) {
    if (const QString why = show_point(link.at); !why.isEmpty()) return why;
  }
  if (!link.select.isEmpty()) {
    if (const QString why = select(link.select); !why.isEmpty()) return why;
  }
  if (link.ticked) findings_.set_ticked({link.ticked->begin(), link.ticked->end()});
  timeline_->set_axis(link.events ? scene::Axis::kEvents : scene::Axis::kTime);
  if (link.from && link.to) {
    timeline_->show_units(device()->unit_of(Sequence(*link.from)), device()->unit_of(Sequence(*link.to)));
  }
  return {};
}

void MainWindow::copy_link() {
  if (device() == nullptr) return;
  const QString text = text_of(link());
  QApplication::clipboard()->setText(text);
  status_->setText(tr("copied: dc-memtrace view '%1'").arg(text));
}

void MainWindow::keep_state() {
  keeps_state_ = true;
  const QSettings kept = settings();
  restoreGeometry(kept.value(kGeometry).toByteArray());
  restoreState(kept.value(kPanels).toByteArray(), kPanelsVersion);
  // The traces of these panels are not open yet.
  ranks_dock_->hide();
  compare_dock_->hide();
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (keeps_state_) {
    QSettings kept = settings();
    kept.setValue(kGeometry, saveGeometry());
    kept.setValue(kPanels, saveState(kPanelsVersion));
  }
  QMainWindow::closeEvent(event);
}

void MainWindow::note_recent() {
  if (!keeps_state_) return;
  QSettings kept = settings();
  QStringList recent = kept.value(kRecent).toStringList();
  const QString path = QFileInfo(QString::fromStdString(path_)).absoluteFilePath();
  recent.removeAll(path);
  recent.prepend(path);
  kept.setValue(kRecent, QStringList(recent.mid(0, kMostRecent)));
}

void MainWindow::choose_recent() {
  const QStringList recent = settings().value(kRecent).toStringList();
  if (recent.isEmpty()) {
    status_->setText(tr("no trace was opened before."));
    return;
  }
  Palette palette(tr("Traces opened last"), recent, this);
  if (palette.exec() == QDialog::Accepted && palette.chosen() >= 0) open(recent[palette.chosen()]);
}

}  // namespace dcmt::gui
