// Compares the end of a file's path by whole folder names: a table names files of packages that can be installed
// anywhere.
#pragma once

#include <string_view>

namespace dcmt {

/// True if `path` is `end`, or ends with it after a slash.
[[nodiscard]] inline bool ends_with_path(std::string_view path, std::string_view end) {
  if (!path.ends_with(end)) return false;
  return path.size() == end.size() || path[path.size() - end.size() - 1] == '/';
}

}  // namespace dcmt
