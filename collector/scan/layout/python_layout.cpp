#include "collector/scan/layout/python_layout.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <string>

#include "collector/scan/layout/embedded_layouts.h"
#include "collector/scan/layout/layout_lines.h"

namespace dcmt::scan {
namespace {

struct PythonField {
  std::string_view name;
  std::int64_t PythonLayout::*member;
};

#define DCMT_FIELD(name) PythonField{#name, &PythonLayout::name},
constexpr std::array kPythonFields{DCMT_PYTHON_LAYOUT(DCMT_FIELD)};
#undef DCMT_FIELD

Error bad_line(std::string_view word) {
  return Error{ErrorCode::kBadInput, fmt::format("layout of CPython: '{}' is no line \"name value\"", word)};
}

}  // namespace

Expected<PythonLayout> parse_python_layout(std::string_view text) {
  std::map<std::string_view, std::int64_t> values;
  std::map<std::string_view, std::int64_t> stated;
  while (!text.empty()) {
    const auto words = next_line_words(text);
    if (words.empty()) continue;
    std::int64_t value = 0;
    const bool is_stated = words.size() == 3 && words[0] == "stated";
    if ((words.size() != 2 && !is_stated) || !decimal(words.back(), value)) return bad_line(words[0]);
    (is_stated ? stated : values)[words[words.size() - 2]] = value;
  }
  PythonLayout layout;
  for (const PythonField& field : kPythonFields) {
    const auto found = values.find(field.name);
    if (found == values.end()) {
      return Error{ErrorCode::kBadInput, fmt::format("layout of CPython: {} is missing", field.name)};
    }
    layout.*field.member = found->second;
    const auto where = stated.find(field.name);
    if (where != stated.end()) layout.stated.push_back({field.name, field.member, where->second});
  }
  return layout;
}

Expected<PythonLayout> python_layout(std::int64_t version) {
  std::string known;
  for (const std::string_view text : kPythonLayouts) {
    Expected<PythonLayout> layout = parse_python_layout(text);
    if (!layout.ok()) return layout;
    if (layout->version == version) return layout;
    known += fmt::format("{}{}.{}", known.empty() ? "" : ", ", layout->version >> 8, layout->version & 255);
  }
  return Error{ErrorCode::kCannotRecord,
               fmt::format("cannot inspect CPython {}.{}: this build reads {}", version >> 8, version & 255, known)};
}

}  // namespace dcmt::scan
