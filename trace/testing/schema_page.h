// The tables of docs/schema.md, made from the declarations.
#pragma once

#include <string>

namespace dcmt::testing {

/// The page with each of its tables as declared. A table of the page begins with a line as
/// "| `storage` | type | meaning |". Tables that the page lacks are added at its end, so that a comparison shows them.
[[nodiscard]] std::string with_declared_tables(const std::string& page);

}  // namespace dcmt::testing
