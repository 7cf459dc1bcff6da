// Watches the file of an open trace. A growing trace is read again, and a trace that its recorder moves is read where
// it is then; for other changes a message is shown.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <string>

#include "render/load/file_stamp.h"

namespace dcmt::gui {

class Follower : public QObject {
  Q_OBJECT

 public:
  explicit Follower(QObject* parent = nullptr);

  /// @param stamp  from before the trace was read
  /// @param growing  the trace is still being recorded
  /// @param read_ms  the duration of reading: a growing trace is read again after at least four times as long
  void watch(const std::string& path, const load::FileStamp& stamp, bool growing, qint64 read_ms);
  void stop() { timer_.stop(); }
  /// Checks now. @return whether a change was signalled
  bool check();
  /// The current stamp of the file, for the next reading.
  [[nodiscard]] const load::FileStamp& stamp() const { return stamp_; }

 signals:
  /// The trace has grown, or was finished.
  void grown();
  /// The recorder has moved the finished trace there.
  void moved(const QString& path);
  void said(const QString& line);

 private:
  QString line_of(load::FileChange change) const;

  QTimer timer_;
  QElapsedTimer age_;
  std::string path_;
  std::string finished_path_;  ///< where the recorder moves the trace to; `path_` if it does not
  load::FileStamp stamp_;
  bool growing_ = false, recorder_gone_ = false;
  qint64 wait_ms_ = 0;
};

}  // namespace dcmt::gui
