#include <gtest/gtest.h>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/forked_samples.h"
#include "analyzer/testing/test_trace.h"
#include "trace/sql/trace_file.h"

namespace dcmt::analyzer {
namespace {

using testing::ForkedChildrenSamples;
using testing::TestTrace;

std::vector<Finding> findings_of(const ForkedChildrenSamples& how) {
  TestTrace trace;
  for (int step = 0; step < 8; ++step) {
    trace.drop(trace.allocate(100));
    trace.step(step);
  }
  const std::string path = trace.save();
  const Status added = testing::add_forked_children(path, how);
  EXPECT_TRUE(added.ok()) << added.error().message;
  Expected<Database> database = open_trace(path);
  EXPECT_TRUE(database.ok());
  const Expected<TraceData> data = TraceData::load(*database);
  EXPECT_TRUE(data.ok()) << data.error().message;
  return std::move(analyze(*data).findings);
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
