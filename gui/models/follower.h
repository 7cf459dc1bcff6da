// Watches the file of a trace that is open: one that grows is read again, of another a line says what happened to it.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <string>

#include "gui/load/file_stamp.h"

namespace dcmt::gui {

class Follower : public QObject {
  Q_OBJECT

 public:
  explicit Follower(QObject* parent = nullptr);

  /// @param stamp  from before the trace was read
  /// @param growing  it is still recorded
  /// @param read_ms  how long reading took: a trace that grows is read again after four times of that at the earliest
  void watch(const std::string& path, const load::FileStamp& stamp, bool growing, qint64 read_ms);
  void stop() { timer_.stop(); }
  /// Looks now. @return something was said
  bool look();
  /// The file as it is now, for whoever reads it again.
  [[nodiscard]] const load::FileStamp& stamp() const { return stamp_; }

 signals:
  /// It has grown, or was finished.
  void grown();
  void said(const QString& line);

 private:
  QString line_of(load::FileChange change) const;

  QTimer timer_;
  QElapsedTimer age_;
  std::string path_;
  load::FileStamp stamp_;
  bool growing_ = false, recorder_gone_ = false;
  qint64 wait_ms_ = 0;
};

}  // namespace dcmt::gui
