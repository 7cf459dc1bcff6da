// Addresses of blocks. They are loaded on demand, for the address map and for lifetimes arranged by address.
#include <QLabel>

#include "gui/app/main_window.h"
#include "gui/app/more_panels.h"
#include "gui/models/words.h"
#include "gui/widgets/timeline.h"

namespace dcmt::gui {

void MainWindow::read_addresses(bool arrange) {
  if (device() == nullptr) return;
  arrange_when_read_ = arrange_when_read_ || arrange;
  if (address_work_.busy()) return;
  status_->setText(tr("reading the addresses"));
  address_work_.start([this, session = session_, device = device_, file = file_,
                       arrange = arrange_when_read_](const analyzer::Watch& watch) -> Background::Answer {
    auto read = load::read_by_address(*session, device, file, watch);
    if (read.ok() && arrange) session->devices[device]->add_lanes(**read);
    return [this, session, device, read = std::move(read)] {
      if (session == session_ && device == device_) put_addresses(read);
    };
  });
}

void MainWindow::put_addresses(const Expected<std::shared_ptr<load::ByAddress>>& read) {
  const bool arrange = std::exchange(arrange_when_read_, false);
  if (!read.ok()) {
    status_->setText(QString::fromStdString(read.error().message));
    more_->addresses_read(status_->text());
    show_grouping();  // the new grouping may have waited
    return;
  }
  device()->set_by_address(*read);
  show_grouping();
  status_->setText({});
  more_->addresses_read({});
  if (!arrange) return;
  if ((*read)->lanes) {
    put_arrangement(load::Arrangement::kAddress);
  } else {
    read_addresses(true);  // requested while a load without lanes was running
  }
}

void MainWindow::put_arrangement(load::Arrangement arrangement) {
  device()->arrange(arrangement);
  status_->setText(arrangement == load::Arrangement::kAddress ? tr("arranged by address")
                                                              : tr("arranged by findings and sizes"));
  timeline_->rows_changed();
  if (selection_.lifetime()) timeline_->reveal(*selection_.lifetime());
}

void MainWindow::toggle_arrangement() {
  if (device() == nullptr) return;
  if (device()->arrangement() == load::Arrangement::kAddress) {
    put_arrangement(load::Arrangement::kKind);
  } else if (device()->addresses() != nullptr && device()->addresses()->lanes) {
    put_arrangement(load::Arrangement::kAddress);
  } else {
    read_addresses(true);
  }
}

QString MainWindow::arrange(const QString& name) {
  if (!session_) return tr("no trace is open.");
  if (name != QLatin1String("kind") && name != QLatin1String("address")) {
    return tr("no arrangement '%1'; there are kind and address.").arg(name);
  }
  if (name == QLatin1String("kind")) {
    put_arrangement(load::Arrangement::kKind);
    return {};
  }
  if (const QString why = read_addresses_now(true); !why.isEmpty()) return why;
  put_arrangement(load::Arrangement::kAddress);
  return {};
}

QString MainWindow::read_addresses_now(bool arrange) {
  if (device() == nullptr) return {};
  const load::ByAddress* there = device()->addresses();
  if (there != nullptr && (there->lanes || !arrange)) return {};
  address_work_.cancel();
  const auto read = load::read_by_address(*session_, device_, file_);
  if (read.ok() && arrange) device()->add_lanes(**read);
  put_addresses(read);
  return read.ok() ? QString() : QString::fromStdString(read.error().message);
}

}  // namespace dcmt::gui
