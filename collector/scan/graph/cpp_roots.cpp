#include "collector/scan/graph/cpp_roots.h"

#include <utility>

#include "collector/scan/objects/cpp_objects.h"

namespace dcmt::scan {
namespace {

/// A variable that only refers to an object reads worse than the object's own.
constexpr std::uint8_t kVariable = 1, kReference = 4;

}  // namespace

std::vector<NamedRoot> cpp_roots(std::span<const CppVariable> variables, Mirror& memory, ProcessTypes& types) {
  FoundReferences found(memory, types);
  CppObjects objects(memory, types, found);
  std::vector<NamedRoot> roots;
  std::vector<Reference> references;
  for (const CppVariable& variable : variables) {
    if (variable.shape == 0 || !variable.exists(memory)) continue;
    found.collect_into(references);
    objects.decode_variable(variable.address, variable.shape);
    for (const Reference& each : references) {
      const std::uint8_t cost = variable.range.begin == variable.range.end ? kReference : kVariable;
      roots.push_back({{each.target, each.kind, 0, variable.path, variable.place}, cost});
    }
  }
  return roots;
}

}  // namespace dcmt::scan
