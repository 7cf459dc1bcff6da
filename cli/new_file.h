// A file that a command writes. It gets its name only when it is complete, and it does not overwrite files by accident.
#pragma once

#include <string>

#include "trace/base/status.h"

namespace dcmt::cli {

/// Until keep(), the file has another name in the same folder. It is removed if keep() is never called.
class NewFile {
 public:
  explicit NewFile(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// kBadInput if `path` exists and `replace` is false or it is not a regular file, or if its folder is not writable.
  [[nodiscard]] Status check(bool replace) const;
  /// The path to write to. No such file exists before.
  [[nodiscard]] const std::string& part() const { return part_; }
  /// Renames the file to its final name. kIo if that fails.
  Status keep();

 private:
  std::string path_, part_;
  bool kept_ = false;
};

/// Writes a text file completely or not at all, creates its folders, and replaces an existing file.
Status write_new_file(const std::string& path, const std::string& text);

}  // namespace dcmt::cli
