#include "gui/models/follower.h"

#include <algorithm>

#include "render/load/recorder_state.h"

namespace dcmt::gui {
namespace {

constexpr int kEveryMs = 1000;

}  // namespace

Follower::Follower(QObject* parent) : QObject(parent) {
  timer_.setInterval(kEveryMs);
  connect(&timer_, &QTimer::timeout, this, &Follower::check);
}

void Follower::watch(const std::string& path, const load::FileStamp& stamp, bool growing, qint64 read_ms) {
  if (path != path_ || !growing) recorder_gone_ = false;
  path_ = path;
  finished_path_ = load::finished_path(path);
  stamp_ = stamp;
  growing_ = growing;
  wait_ms_ = std::max<qint64>(kEveryMs / 2, 4 * read_ms);
  age_.start();
  timer_.start();
}

QString Follower::line_of(load::FileChange change) const {
  switch (change) {
    case load::FileChange::kNone:
      return {};
    case load::FileChange::kWritten:
      return tr("the file was written to since it was read: F5 reads it again.");
    case load::FileChange::kShorter:
      return tr("the file was cut since it was read. What was read is shown.");
    case load::FileChange::kReplaced:
      return tr("another file has its name since it was read: F5 reads that one.");
    case load::FileChange::kGone:
      return tr("the file is gone since it was read. What was read is shown.");
  }
  return {};
}

bool Follower::check() {
  const load::FileStamp now = load::stamp_of(path_);
  const load::FileChange change = load::change_of(stamp_, now);
  if (growing_ && change == load::FileChange::kNone && !recorder_gone_ &&
      load::recorder_of(path_) == load::Recorder::kGone) {
    recorder_gone_ = true;
    emit said(tr("the recorder is gone. What it wrote is shown; dc-memtrace report of the folder finishes the trace."));
    return true;
  }
  if (change == load::FileChange::kNone) return false;
  if (change == load::FileChange::kGone && finished_path_ != path_) {
    if (const load::FileStamp moved_to = load::stamp_of(finished_path_); moved_to.there) {
      path_ = finished_path_;
      stamp_ = moved_to;
      emit moved(QString::fromStdString(path_));
      return true;
    }
  }
  const bool grows = growing_ && change == load::FileChange::kWritten;
  if (grows && age_.elapsed() < wait_ms_) return false;
  stamp_ = now;
  if (grows) {
    emit grown();
  } else {
    emit said(line_of(change));
  }
  return true;
}

}  // namespace dcmt::gui
