#include "analyzer/storages/saved_fields.h"

#include <array>
#include <cstddef>

namespace dcmt::analyzer {
namespace {

/// A prefix by which a path refers to what a node has saved, and the position of the field's name.
struct Spelling {
  std::string_view text;
  std::size_t field;  ///< where the name begins
};
constexpr std::array<Spelling, 2> kSpellings{{{"._saved_", 8}, {".saved_tensors", 1}}};

}  // namespace

std::optional<SavedFieldName> saved_field_of(std::string_view path) {
  for (const Spelling& spelling : kSpellings) {
    const std::size_t at = path.rfind(spelling.text);
    if (at == std::string_view::npos) continue;
    const std::size_t space = path.rfind(' ', at);
    const std::size_t node = space == std::string_view::npos ? 0 : space + 1;
    const std::string_view name = path.substr(at + spelling.field);
    return SavedFieldName{std::string(path.substr(node, at - node)),
                          std::string(name.substr(0, name.find_first_of(" .[")))};
  }
  return std::nullopt;
}

bool leads_through_a_graph(std::string_view path) {
  return path.find(".grad_fn") != std::string_view::npos || saved_field_of(path).has_value();
}

}  // namespace dcmt::analyzer
