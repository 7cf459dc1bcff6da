#include "collector/scan/native/stack_variables.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <tuple>

namespace dcmt::scan {

StackVariables::StackVariables(std::span<const CppVariable> variables, Mirror& memory) {
  std::ranges::copy_if(variables, std::back_inserter(variables_), [&](const CppVariable& each) {
    return each.returns != 0 && each.range.begin != each.range.end && memory.word(each.returns_at) == each.returns;
  });
  const auto key = [](const CppVariable& each) { return std::tie(each.range.begin, each.range.end, each.path); };
  std::ranges::sort(variables_, {}, key);
  const auto same = [&](const CppVariable& a, const CppVariable& b) { return key(a) == key(b); };
  variables_.erase(std::unique(variables_.begin(), variables_.end(), same), variables_.end());
  std::vector<bool> is_shared(variables_.size());
  std::size_t longest = 0;  // the one that ends last so far
  for (std::size_t i = 1; i < variables_.size(); ++i) {
    if (variables_[i].range.begin < variables_[longest].range.end) is_shared[i] = is_shared[longest] = true;
    if (variables_[i].range.end > variables_[longest].range.end) longest = i;
  }
  std::size_t at = 0;
  std::erase_if(variables_, [&](const CppVariable&) { return is_shared[at++]; });
}

const CppVariable* StackVariables::at(Address address) const {
  const auto begin_of = [](const CppVariable& each) { return each.range.begin; };
  const auto after = std::ranges::upper_bound(variables_, address, {}, begin_of);
  if (after == variables_.begin() || address >= std::prev(after)->range.end) return nullptr;
  return &*std::prev(after);
}

}  // namespace dcmt::scan
