// Decides who gets a key, because commands use letters and arrows in the whole window: the pane with the focus gets the
// keys that it needs. Input fields and lists keep all letters. All panes except the timeline keep arrows and similar
// keys.
#pragma once

#include <QObject>

class QWidget;

namespace dcmt::gui {

class OwnKeys : public QObject {
  Q_OBJECT

 public:
  /// @param timeline  the only pane in which commands come first
  OwnKeys(QWidget& window, QWidget& timeline);

  bool eventFilter(QObject* target, QEvent* event) override;

 private:
  QWidget& window_;
  QWidget& timeline_;
};

}  // namespace dcmt::gui
