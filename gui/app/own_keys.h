// Whose a key is, when commands have letters and arrows for keys in the whole window: the pane's with the focus, where
// it needs it. Boxes in which one types or chooses keep all letters; any pane but the timeline keeps its arrows and the
// like.
#pragma once

#include <QObject>

class QWidget;

namespace dcmt::gui {

class OwnKeys : public QObject {
  Q_OBJECT

 public:
  /// @param timeline  the one pane to which commands come first
  OwnKeys(QWidget& window, QWidget& timeline);

  bool eventFilter(QObject* target, QEvent* event) override;

 private:
  QWidget& window_;
  QWidget& timeline_;
};

}  // namespace dcmt::gui
