// Readable C++ names.
#pragma once

#include <optional>
#include <string>

namespace dcmt {

/// "std::vector<int>" for "St6vectorIiSaIiEE"; nullopt if the text is not a mangled name (Itanium C++ ABI).
[[nodiscard]] std::optional<std::string> demangled(const std::string& name);

}  // namespace dcmt
