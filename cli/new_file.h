// A file that a command writes: it has its name once it is whole, and nothing that was there is lost by accident.
#pragma once

#include <string>

#include "trace/base/status.h"

namespace dcmt::cli {

/// From its construction to keep() under another name in the same folder, and removed if keep() is never called.
class NewFile {
 public:
  explicit NewFile(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// kBadInput if `path` exists and `replace` is false or it is no regular file, or if its folder cannot be written to.
  [[nodiscard]] Status check(bool replace) const;
  /// Where to write. There is no such file before.
  [[nodiscard]] const std::string& part() const { return part_; }
  /// Gives it its name. kIo if that fails.
  Status keep();

 private:
  std::string path_, part_;
  bool kept_ = false;
};

/// Writes a text file whole or not at all, with its folders; replaces one that is there.
Status write_new_file(const std::string& path, const std::string& text);

}  // namespace dcmt::cli
