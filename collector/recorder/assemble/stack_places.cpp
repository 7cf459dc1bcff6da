#include "collector/recorder/assemble/stack_places.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "trace/base/code_path.h"

namespace dcmt::recorder {
namespace {

constexpr std::size_t kMostKnown = 4096;

}  // namespace

Expected<std::string> StackPlaces::of(RowId stack) {
  if (const auto known = known_.find(stack); known != known_.end()) return known->second;
  DCMT_ASSIGN_OR_RETURN(std::string place, read(stack));
  if (known_.size() >= kMostKnown) known_.clear();
  return known_[stack] = std::move(place);
}

Expected<std::map<RowId, std::string>> StackPlaces::of_largest(std::vector<StackBytes> stacks, std::size_t most,
                                                               std::string_view others) {
  std::ranges::sort(stacks, [](const StackBytes& a, const StackBytes& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.stack < b.stack;
  });
  std::map<RowId, std::string> places;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    DCMT_ASSIGN_OR_RETURN(places[stacks[i].stack], i < most ? of(stacks[i].stack) : std::string(others));
  }
  return places;
}

Expected<std::string> StackPlaces::read(RowId stack) {
  std::string innermost;
  std::string own;
  DCMT_RETURN_IF_ERROR(
      each_row(journal_.writer.database(),
               "WITH RECURSIVE up(parent, frame, depth) AS (SELECT parent, frame, 0 FROM stack WHERE id = " +
                   std::to_string(stack) +
                   " UNION ALL SELECT s.parent, s.frame, depth + 1 FROM stack s JOIN up ON s.id = up.parent)"
                   " SELECT file.text, line, function.text FROM up JOIN frame ON frame.id = up.frame"
                   " JOIN string file ON file.id = file JOIN string function ON function.id = function ORDER BY depth",
               [&](const Statement& row) {
                 if (!own.empty()) return;
                 const std::string_view file = row.text(0);
                 std::string place(short_path(file));
                 place += ":" + std::to_string(row.integer(1)) + " ";
                 place += row.text(2);
                 if (innermost.empty()) innermost = place;
                 if (is_compiler_output(file) || !is_library_file(file)) own = std::move(place);
               }));
  return own.empty() ? innermost : own;
}

}  // namespace dcmt::recorder
