#include <gtest/gtest.h>

#include "analyzer/testing/findings_of_steps.h"
#include "analyzer/testing/forked_samples.h"

namespace dcmt::analyzer {
namespace {

using testing::ForkedChildrenSamples;

std::vector<Finding> findings_of(const ForkedChildrenSamples& how) {
  return testing::findings_of_steps(8,
                                    [&](const std::string& path) { return testing::add_forked_children(path, how); });
}

TEST(GrowsForked, WhatEachChildCopiesOfItsParentIsNamed) {
  const std::vector<Finding> findings = findings_of({});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "grows_forked");
  EXPECT_EQ(findings[0].bytes.value, 2 * 160'000'000);
  EXPECT_EQ(findings[0].identity.holder, "main: data.rows");
  ASSERT_TRUE(findings[0].forked);
  const ForkedGrowth& growth = *findings[0].forked;
  EXPECT_TRUE(growth.inherited);
  EXPECT_EQ(growth.holder, "main: data.rows");
  EXPECT_EQ(growth.entry_type, "str");
  EXPECT_EQ(growth.each.value, 160'000'000);
  EXPECT_EQ(growth.of.name, "pt_data_worker");
  EXPECT_EQ(growth.of.most, 2);
  EXPECT_EQ(growth.of.first.value, 2 * 10'000'000);
  EXPECT_EQ(growth.of.unshared.value, 2 * 200'000'000);
}

TEST(GrowsForked, WhatEachChildAddsIsNamedWhileItGrows) {
  const auto adds = [](std::int64_t sample) { return sample * 10'000; };
  const std::vector<Finding> findings = findings_of({.entries = adds, .inherited = false});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_FALSE(findings[0].forked->inherited);
  EXPECT_EQ(findings[0].forked->entries_before, 100'000);
  EXPECT_EQ(findings[0].forked->entries, 200'000);
  // A cache that has filled up.
  const auto filled = [](std::int64_t sample) { return std::min<std::int64_t>(sample, 12) * 10'000'000; };
  EXPECT_TRUE(findings_of({.unshared = filled, .entries = adds, .inherited = false}).empty());
}

TEST(GrowsForked, WhatChildrenMakeForThemselvesIsNoFinding) { EXPECT_TRUE(findings_of({.inherited = false}).empty()); }

TEST(GrowsForked, FewBytesAndASmallPartOfAChildAreNoFinding) {
  EXPECT_TRUE(findings_of({.copied = [](std::int64_t) { return 20'000'000; }}).empty());
  EXPECT_TRUE(findings_of({.unshared = [](std::int64_t sample) { return sample * 50'000'000; }}).empty());
}

TEST(GrowsForked, AJobWithoutChildrenHasNone) { EXPECT_TRUE(findings_of({.children = 0, .samples = 0}).empty()); }

}  // namespace
}  // namespace dcmt::analyzer
