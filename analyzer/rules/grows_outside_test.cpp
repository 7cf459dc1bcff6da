#include <gtest/gtest.h>

#include "analyzer/testing/findings_of_steps.h"
#include "analyzer/testing/object_samples.h"
#include "analyzer/testing/outside_samples.h"

namespace dcmt::analyzer {
namespace {

using testing::OutsideSamples;

std::vector<Finding> findings_of(const OutsideSamples& how) {
  return testing::findings_of_steps(60,
                                    [&](const std::string& path) { return testing::add_outside_samples(path, how); });
}

TEST(GrowsOutside, WhatBothWitnessesSeeIsNamedByItsClass) {
  for (const std::string kind : {"malloc", "python", "other", "stacks", "shared tensors", "shared memory", "files"}) {
    const std::vector<Finding> findings = findings_of({.kind = kind});
    ASSERT_EQ(findings.size(), 1u) << kind;
    EXPECT_EQ(findings[0].rule, "grows_outside");
    ASSERT_TRUE(findings[0].outside);
    EXPECT_EQ(findings[0].outside->kind, kind);
    EXPECT_NEAR(static_cast<double>(findings[0].outside->per_step.value), 1 << 20, 1000);
    EXPECT_EQ(findings[0].outside->steps, 57);
    EXPECT_EQ(findings[0].bytes.value, findings[0].outside->after.value - findings[0].outside->before.value);
    EXPECT_NEAR(static_cast<double>(findings[0].bytes.value), 57 << 20, 1 << 20);
    EXPECT_EQ(findings[0].confidence, Confidence::kPartial);
  }
}

TEST(GrowsOutside, ArraysOfNumpyAreNamedByWhatHoldsThem) {
  const std::vector<Finding> findings = findings_of({.arrays = true});
  ASSERT_EQ(findings.size(), 1u);
  ASSERT_TRUE(findings[0].outside);
  EXPECT_EQ(findings[0].outside->kind, "numpy");
  EXPECT_EQ(findings[0].outside->holder, "main: rows");
  EXPECT_EQ(findings[0].outside->type, "list");
  EXPECT_EQ(findings[0].outside->arrays, 60);
  ASSERT_EQ(findings[0].outside->stored_by.size(), 1u);
  EXPECT_EQ(findings[0].outside->stored_by[0].text, "rows.append(x)");
  EXPECT_EQ(findings[0].identity.holder, "main: rows");
}

TEST(GrowsOutside, NodesOfAutogradAreNamedByTheVariableWhoseGraphHasThem) {
  for (const std::string type : {"graph", "list of graphs"}) {
    const std::vector<Finding> findings = findings_of({.arrays = true, .type = type});
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].outside->kind, "graph");
    EXPECT_EQ(findings[0].outside->holder, "main: rows");
    EXPECT_EQ(findings[0].outside->arrays, 60);
    EXPECT_EQ(findings[0].confidence, Confidence::kPartial);
  }
}

TEST(GrowsOutside, WhatTheClassesDoNotConfirmIsNoFinding) {
  EXPECT_TRUE(findings_of({.confirmed = 1 << 18}).empty());
  EXPECT_TRUE(findings_of({.kind = "libraries"}).empty());
  EXPECT_TRUE(findings_of({.kind = "recorder"}).empty());
}

TEST(GrowsOutside, WhatMallocHasFreeIsNotKept) {
  EXPECT_TRUE(findings_of({.free = 1 << 20}).empty());
  EXPECT_TRUE(findings_of({.free = 750 << 10}).empty()) << "a quarter is in use";
  EXPECT_EQ(findings_of({.free = 500 << 10}).size(), 1u);
  EXPECT_EQ(findings_of({.kind = "python", .free = 1 << 20}).size(), 1u);
}

TEST(GrowsOutside, ABufferThatIsFilledIsNoFinding) {
  EXPECT_TRUE(findings_of({.mapped = 0}).empty());
  EXPECT_TRUE(findings_of({.kind = "stacks", .mapped = 0}).empty()) << "calls that go deeper";
  EXPECT_TRUE(findings_of({.kind = "files", .mapped = 0}).empty());
}

TEST(GrowsOutside, WhatMallocNeedsBesideTensorsThatAreKeptIsNoFinding) {
  EXPECT_TRUE(findings_of({.torch = 1 << 21}).empty());
  EXPECT_TRUE(findings_of({.torch = 1 << 19}).empty());
  EXPECT_EQ(findings_of({.torch = 1 << 18}).size(), 1u);
  EXPECT_EQ(findings_of({.kind = "shared memory", .torch = 1 << 21}).size(), 1u);
}

TEST(GrowsOutside, ACollectionThatGainsObjectsOfALibraryIsSaid) {
  const auto why_with = [](const testing::ObjectSamples& objects, const testing::ObjectSamples* more = nullptr) {
    const std::vector<Finding> findings = testing::findings_of_steps(60, [&](const std::string& path) -> Status {
      DCMT_RETURN_IF_ERROR(testing::add_outside_samples(path, {}));
      if (more != nullptr) DCMT_RETURN_IF_ERROR(testing::add_object_samples(path, *more));
      return testing::add_object_samples(path, objects);
    });
    return findings.size() == 1 ? findings[0].why : "";
  };
  const auto one_a_step = [](std::int64_t step) { return step; };
  const testing::ObjectSamples tables{.path = "main.tables", .entries = one_a_step, .entry_type = "Table"};
  EXPECT_TRUE(
      why_with(tables).ends_with("; meanwhile main.tables gains objects of type Table (60 now), which may have it"))
      << why_with(tables);
  const testing::ObjectSamples images{.path = "main.images", .entries = one_a_step, .entry_type = "Image"};
  const testing::ObjectSamples log{.path = "main.log", .entries = one_a_step, .entry_type = "float"};
  const testing::ObjectSamples full{
      .path = "main.tables", .entries = [](std::int64_t) { return std::int64_t{20}; }, .entry_type = "Table"};
  for (const std::string& why : {why_with(log), why_with(full), why_with(tables, &images)}) {
    EXPECT_FALSE(why.empty());
    EXPECT_EQ(why.find("meanwhile"), std::string::npos) << why;
  }
}

TEST(GrowsOutside, AFewMegabytesInAllAreNoFinding) { EXPECT_TRUE(findings_of({.per_step = 50'000}).empty()); }

}  // namespace
}  // namespace dcmt::analyzer
