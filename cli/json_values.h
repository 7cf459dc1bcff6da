// How values that can be missing are written in every document: missing is null.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "analyzer/load/trace_data.h"
#include "cli/json_writer.h"

namespace dcmt::cli {

using Json = nlohmann::ordered_json;

template <class Value>
[[nodiscard]] Json optional_json(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

/// As it is printed. Bytes that are no UTF-8 (a file's name may have them) become U+FFFD.
[[nodiscard]] inline std::string printed(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

[[nodiscard]] inline Json bytes_json(const std::optional<Bytes>& bytes) { return bytes ? Json(bytes->value) : Json(); }

[[nodiscard]] inline Json text_json(const analyzer::TraceData& data, StringId id) {
  return id.valid() ? Json(data.text(id)) : Json();
}

[[nodiscard]] inline Json moment_json(Sequence seq, TimeNs ns) {
  if (!seq.valid()) return {};
  return {{"seq", seq.value}, {"ns", ns.value}};
}

[[nodiscard]] inline Json key_json(const analyzer::Key& key) { return {{"graph", key.graph}, {"key", key.key}}; }

}  // namespace dcmt::cli
