#include "gui/app/own_keys.h"

#include <QApplication>
#include <QComboBox>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QWidget>

namespace dcmt::gui {
namespace {

bool moves(int key) {
  switch (key) {
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_Home:
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
    case Qt::Key_Space:
    case Qt::Key_Backspace:
      return true;
    default:
      return false;
  }
}

bool accepts_letters(const QObject* widget) {
  return qobject_cast<const QComboBox*>(widget) != nullptr || qobject_cast<const QLineEdit*>(widget) != nullptr ||
         qobject_cast<const QPlainTextEdit*>(widget) != nullptr;
}

}  // namespace

OwnKeys::OwnKeys(QWidget& window, QWidget& timeline) : QObject(&window), window_(window), timeline_(timeline) {
  qApp->installEventFilter(this);
}

bool OwnKeys::eventFilter(QObject* target, QEvent* event) {
  if (event->type() != QEvent::ShortcutOverride || target == &timeline_) return false;
  // Widgets around the pane with the focus are asked after it.
  const QWidget* widget = QApplication::focusWidget();
  if (widget != target || widget == nullptr || widget->window() != &window_) return false;
  const auto* key = static_cast<const QKeyEvent*>(event);
  if ((key->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) != 0) return false;
  const bool letter = !key->text().isEmpty() && key->text().front().isPrint();
  if (!moves(key->key()) && !(letter && accepts_letters(widget))) return false;
  event->accept();  // delivers it as a key to the widget, not as a shortcut
  return true;
}

}  // namespace dcmt::gui
