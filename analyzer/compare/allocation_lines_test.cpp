#include "analyzer/compare/allocation_lines.h"

#include <gtest/gtest.h>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// What is said to hold what one line made: bytes, and the variable that has them; none: no reading found them.
std::string holder_of_line(const std::vector<std::pair<std::int64_t, std::string>>& made) {
  TestTrace trace;
  trace.stack = {{"train.py", "main", 21}};
  for (const auto& [bytes, variable] : made) {
    const auto storage = trace.allocate(bytes);
    if (!variable.empty()) trace.held(storage, {.path = variable, .otherwise = true});
  }
  const TraceData data = trace.load();
  std::vector<const Block*> blocks;
  for (const Block& block : data.blocks) blocks.push_back(&block);
  const std::vector<AllocationLine> lines = AllocationLines(data).of(blocks);
  EXPECT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines.front().line, 21);
  return lines.front().holder;
}

TEST(AllocationLines, TheHolderOfALineHasMostOfItsBytes) {
  EXPECT_EQ(holder_of_line({{100, "main: model"}}), "main: model");
  EXPECT_EQ(holder_of_line({{100, "main: model"}, {60, "main: seen"}, {70, "main: seen"}}), "main: seen")
      << "the largest block is the model's";
  EXPECT_EQ(holder_of_line({{60, "main: b"}, {60, "main: a"}}), "main: a");
  EXPECT_EQ(holder_of_line({{60, "main: a"}, {500, ""}, {70, "main: b"}}), "") << "of most it is not known";
}

}  // namespace
}  // namespace dcmt::analyzer
