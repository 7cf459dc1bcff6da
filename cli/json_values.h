// JSON values outside of the report model.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace dcmt::cli {

using Json = nlohmann::ordered_json;

/// The text of a document. Bytes that are not UTF-8, as in a file's name, become U+FFFD.
[[nodiscard]] inline std::string printed(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace dcmt::cli
