// C++ names as a person writes them.
#pragma once

#include <optional>
#include <string>

namespace dcmt {

/// "std::vector<int>" of "St6vectorIiSaIiEE"; nullopt for what is no mangled name (Itanium C++ ABI).
[[nodiscard]] std::optional<std::string> demangled(const std::string& name);

}  // namespace dcmt
