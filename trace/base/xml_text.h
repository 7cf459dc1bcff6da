// Text for HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace dcmt {

/// Escapes `text` for HTML and XML, between tags and in attributes. Control characters stay: printable() removes them.
[[nodiscard]] std::string xml_escaped(std::string_view text);

}  // namespace dcmt
