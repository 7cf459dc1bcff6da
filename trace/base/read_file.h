// The whole content of a file, of /proc too.
#pragma once

#include <optional>
#include <string>

namespace dcmt {

/// nullopt where the file cannot be opened or read, errno says why. A file of /proc can be opened while its process
/// lives and be unreadable a little later: streams of the standard library throw then.
[[nodiscard]] std::optional<std::string> read_file(const std::string& path);

}  // namespace dcmt
