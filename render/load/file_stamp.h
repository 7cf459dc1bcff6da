// Properties of a trace's file, so that an open trace is read again when the file has changed.
#pragma once

#include <cstdint>
#include <string>

namespace dcmt::load {

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
  kWritten,   ///< the same file, with more or other contents
  kShorter,   ///< the same file, truncated
  kReplaced,  ///< another file with that name
  kGone,
};
[[nodiscard]] FileChange change_of(const FileStamp& before, const FileStamp& now);

}  // namespace dcmt::load
