// What can be seen of a trace from outside, so that one that is open is read again when it has changed.
#pragma once

#include <cstdint>
#include <string>

namespace dcmt::gui::load {

struct FileStamp {
  bool there = false;
  std::uint64_t device = 0, inode = 0;
  std::int64_t bytes = 0, changed_ns = 0;
  std::int64_t log_bytes = 0, log_changed_ns = 0;  ///< of its write-ahead log; 0: there is none

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

[[nodiscard]] FileStamp stamp_of(const std::string& path);

enum class FileChange {
  kNone,
  kWritten,   ///< the same file, and more or other content
  kShorter,   ///< the same file, cut
  kReplaced,  ///< another file of that name
  kGone,
};
[[nodiscard]] FileChange change_of(const FileStamp& before, const FileStamp& now);

}  // namespace dcmt::gui::load
