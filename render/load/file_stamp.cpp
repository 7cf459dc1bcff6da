#include "render/load/file_stamp.h"

#include <sys/stat.h>

namespace dcmt::load {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t changed_ns(const struct stat& status) {
  return static_cast<std::int64_t>(status.st_mtim.tv_sec) * kSecond + status.st_mtim.tv_nsec;
}

}  // namespace

FileStamp stamp_of(const std::string& path) {
  FileStamp stamp;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return stamp;
  stamp.there = true;
  stamp.device = status.st_dev;
  stamp.inode = status.st_ino;
  stamp.bytes = status.st_size;
  stamp.changed_ns = changed_ns(status);
  if (stat((path + "-wal").c_str(), &status) == 0 && status.st_size > 0) {
    stamp.log_bytes = status.st_size;
    stamp.log_changed_ns = changed_ns(status);
  }
  return stamp;
}

FileChange change_of(const FileStamp& before, const FileStamp& now) {
  if (before == now) return FileChange::kNone;
  if (!now.there) return FileChange::kGone;
  if (before.device != now.device || before.inode != now.inode) return FileChange::kReplaced;
  return now.bytes < before.bytes ? FileChange::kShorter : FileChange::kWritten;
}

}  // namespace dcmt::load
