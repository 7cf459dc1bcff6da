#include "render/wording/holder_words.h"

#include <gtest/gtest.h>

namespace dcmt::wording {
namespace {

analyzer::Holders held_by_the_stack() {
  analyzer::HolderPath path;
  path.function = "call";
  path.names = {{{}, analyzer::HolderKind::kEvalStack, {}, {}, {}, {}}};
  analyzer::Holders holders;
  holders.paths = {path};
  return holders;
}

TEST(HolderWords, AHolderThatIsNotProvedIsCalledSo) {
  EXPECT_EQ(holder_facts(held_by_the_stack(), "   2 more alike", {}),
            (LabelledLines{{"held by", "call: (evaluation stack) (unproven)   2 more alike"}}));
}

TEST(HolderWords, OfALongListTheRestIsCounted) {
  analyzer::Holders holders = held_by_the_stack();
  holders.paths.resize(5, holders.paths.front());
  const LabelledLines facts = holder_facts(holders, "", {.most = 2});
  ASSERT_EQ(facts.size(), 3u);
  EXPECT_EQ(facts[1].label, "");
  EXPECT_EQ(facts[2], (LabelledLine{"", "and 3 more frames"}));
}

TEST(HolderWords, WithoutAHolderTheTensorsAreCounted) {
  analyzer::Holders holders;
  EXPECT_EQ(holder_facts(holders, "", {}), (LabelledLines{{"held by", "no holder that the census found"}}));
  holders.tensors = {TensorId(1), TensorId(2)};
  EXPECT_EQ(holder_facts(holders, "", {}), (LabelledLines{{"held by", "2 tensors without a named holder"}}));
  EXPECT_EQ(count_text(holders), "none read");
}

TEST(HolderWords, ThePlaceStandsWithTheRootOfAPath) {
  EXPECT_EQ(placed("main: probe.seen[3]", "train.py:31"), "main (train.py:31): probe.seen[3]");
  EXPECT_EQ(held_text("main.losses", std::nullopt, "list"), "main.losses [list]");
}

}  // namespace
}  // namespace dcmt::wording
