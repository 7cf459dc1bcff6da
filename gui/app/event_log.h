// Writes what the window shows and where it can be clicked, as one JSON line per change. For tests with a real display,
// which act like a user and check the result.
#pragma once

#include <QByteArray>
#include <QFile>
#include <QTimer>

namespace dcmt::gui {

class MainWindow;

class EventLog {
 public:
  /// @param window  must outlive this object
  explicit EventLog(MainWindow& window) : window_(window) {}
  /// False if the file cannot be written.
  bool open(const QString& path);

 private:
  void write_change();

  MainWindow& window_;
  QFile file_;
  QTimer timer_;
  QByteArray last_;
};

}  // namespace dcmt::gui
