// A list to choose from by typing parts of an entry: commands, points.
#pragma once

#include <QDialog>
#include <QStringList>

class QLineEdit;
class QListWidget;

namespace dcmt::gui {

class Palette : public QDialog {
  Q_OBJECT

 public:
  Palette(const QString& title, const QStringList& lines, QWidget* parent);
  /// The index of the chosen line; -1 if none was chosen.
  [[nodiscard]] int chosen() const { return chosen_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void filter(const QString& text);
  void choose();

  QLineEdit* edit_;
  QListWidget* list_;
  int chosen_ = -1;
};

}  // namespace dcmt::gui
