// JSON of what is not of the report model.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace dcmt::cli {

using Json = nlohmann::ordered_json;

/// As it is printed. Bytes that are no UTF-8 (a file's name may have them) become U+FFFD.
[[nodiscard]] inline std::string printed(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace dcmt::cli
