// What the window shows and where it can be clicked, as one JSON line whenever that changes: for tests with a real
// display, which act as a person would and see what came of it.
#pragma once

#include <QByteArray>
#include <QFile>
#include <QTimer>

namespace dcmt::gui {

class MainWindow;

class EventLog {
 public:
  /// @param window  outlives this
  explicit EventLog(MainWindow& window) : window_(window) {}
  /// False: the file cannot be written.
  bool open(const QString& path);

 private:
  void look();

  MainWindow& window_;
  QFile file_;
  QTimer timer_;
  QByteArray last_;
};

}  // namespace dcmt::gui
