#include "gui/widgets/palette.h"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>

namespace dcmt::gui {

Palette::Palette(const QString& title, const QStringList& lines, QWidget* parent)
    : QDialog(parent), edit_(new QLineEdit(this)), list_(new QListWidget(this)) {
  setWindowTitle(title);
  resize(520, 420);
  edit_->setAccessibleName(title);
  edit_->setPlaceholderText(tr("Type to choose"));
  list_->setAccessibleName(title);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(edit_);
  layout->addWidget(list_);
  for (int i = 0; i < lines.size(); ++i) {
    auto* item = new QListWidgetItem(lines[i], list_);
    item->setData(Qt::UserRole, i);
  }
  list_->setCurrentRow(0);
  edit_->installEventFilter(this);
  connect(edit_, &QLineEdit::textChanged, this, &Palette::filter);
  connect(edit_, &QLineEdit::returnPressed, this, &Palette::choose);
  connect(list_, &QListWidget::itemActivated, this, &Palette::choose);
}

void Palette::filter(const QString& text) {
  const QStringList parts = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  int first = -1;
  for (int row = 0; row < list_->count(); ++row) {
    bool fits = true;
    for (const QString& part : parts) fits = fits && list_->item(row)->text().contains(part, Qt::CaseInsensitive);
    list_->item(row)->setHidden(!fits);
    if (fits && first < 0) first = row;
  }
  list_->setCurrentRow(first);
}

void Palette::choose() {
  const QListWidgetItem* item = list_->currentItem();
  if (item == nullptr || item->isHidden()) return;
  chosen_ = item->data(Qt::UserRole).toInt();
  accept();
}

bool Palette::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_PageUp || key == Qt::Key_PageDown) {
      QCoreApplication::sendEvent(list_, event);
      return true;
    }
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace dcmt::gui
