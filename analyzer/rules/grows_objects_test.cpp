#include <gtest/gtest.h>

#include "analyzer/testing/findings_of_steps.h"
#include "analyzer/testing/object_samples.h"
#include "analyzer/testing/outside_samples.h"

namespace dcmt::analyzer {
namespace {

using testing::ObjectSamples;

std::vector<Finding> findings_of_objects(const std::vector<ObjectSamples>& collections,
                                         const std::function<Status(const std::string&)>& more = {}) {
  return testing::findings_of_steps(60, [&](const std::string& path) -> Status {
    for (const ObjectSamples& each : collections) DCMT_RETURN_IF_ERROR(testing::add_object_samples(path, each));
    return more ? more(path) : Status();
  });
}

TEST(GrowsObjects, ACollectionIsNamedWithItsEntriesAndBytes) {
  const std::vector<Finding> findings = findings_of_objects({{}});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "grows_objects");
  EXPECT_EQ(findings[0].confidence, Confidence::kCertain);
  EXPECT_EQ(findings[0].bytes.value, 60 * 1000 * 250);
  ASSERT_TRUE(findings[0].objects);
  const ObjectGrowth& growth = *findings[0].objects;
  EXPECT_EQ(growth.holder, "main: records");
  EXPECT_EQ(growth.place, "train.py:9");
  EXPECT_EQ(growth.entry_type, "dict");
  EXPECT_EQ(growth.entries, 60'000);
  EXPECT_EQ(growth.unit, "step");
  EXPECT_EQ(growth.rounds, 55);
  EXPECT_DOUBLE_EQ(growth.entries_per_round, 1000);
  EXPECT_EQ(growth.per_round.value, 250'000);
  EXPECT_EQ(findings[0].identity.holder, "main: records");
}

TEST(GrowsObjects, AVariableOfAFunctionNeedNotOutliveIt) {
  EXPECT_EQ(findings_of_objects({{.ended = true}}).size(), 1u);
  EXPECT_TRUE(findings_of_objects({{.path = "main.records", .place = "", .ended = true}}).empty())
      << "a module's variable that is empty when the program has ended";
}

TEST(GrowsObjects, AFunctionMayHaveReturnedJustBeforeTheEndIsNoted) {
  const auto until_step_50 = [](std::int64_t step) { return step <= 50 ? step * 1000 : 0; };
  EXPECT_EQ(findings_of_objects({{.entries = until_step_50, .ended = true}}).size(), 1u);
  EXPECT_TRUE(findings_of_objects({{.entries = until_step_50}}).empty()) << "it was emptied";
}

TEST(GrowsObjects, OnlyTheOutermostIsAFinding) {
  const std::vector<Finding> findings = findings_of_objects(
      {{}, {.path = "main: records[*]"}, {.path = "main: records[*].rows"}, {.path = "main: recorded"}});
  ASSERT_EQ(findings.size(), 2u);
}

TEST(GrowsObjects, WhatDiffersInKeysAloneIsOneFinding) {
  const std::vector<Finding> findings = findings_of_objects({{.path = "main: meters[''loss''].history"},
                                                             {.path = "main: meters[''error''].history"},
                                                             {.path = "main: seen"}});
  ASSERT_EQ(findings.size(), 2u);
  ASSERT_TRUE(findings[0].objects);
  EXPECT_EQ(findings[0].objects->holder, "main: meters[*].history");
  EXPECT_EQ(findings[0].objects->entries, 120'000);
  EXPECT_EQ(findings[0].objects->per_round.value, 500'000);
  EXPECT_EQ(findings[0].bytes.value, 2 * 60 * 1000 * 250);
}

TEST(GrowsObjects, SmallOrShortGrowthIsNoFinding) {
  EXPECT_TRUE(findings_of_objects({{.bytes_each = 30}}).empty());
  EXPECT_TRUE(
      findings_of_objects({{.entries = [](std::int64_t step) { return step <= 35 ? 0 : step * 1000; }}}).empty());
  EXPECT_TRUE(findings_of_objects({{.entries = [](std::int64_t step) {
                return std::min<std::int64_t>(step, 40) * 1000;
              }}}).empty());
}

TEST(GrowsObjects, OnABusyMachineItMayBeUnknown) {
  EXPECT_EQ(findings_of_objects({{.until = 45}}).size(), 1u);
  EXPECT_TRUE(findings_of_objects({{.until = 40}}).empty()) << "it may have stopped to grow";
  EXPECT_EQ(findings_of_objects({{.counts = 4}}).size(), 1u);
  EXPECT_TRUE(findings_of_objects({{.counts = 6}}).empty()) << "it is not known when there were so many entries";
}

TEST(GrowsObjects, ItExplainsGrowthOutsideTorch) {
  const auto grows_outside = [](const std::string& path) {
    return testing::add_outside_samples(path, {.kind = "python"});
  };
  const std::vector<Finding> explained = findings_of_objects({{.bytes_each = 1000}}, grows_outside);
  ASSERT_EQ(explained.size(), 1u);
  EXPECT_EQ(explained[0].rule, "grows_objects");
  EXPECT_EQ(findings_of_objects({{.bytes_each = 300}}, grows_outside).size(), 2u) << "less than half of it";
}

TEST(GrowsObjects, SeveralTogetherExplainGrowthOutsideTorch) {
  const auto grows_outside = [](const std::string& path) {
    return testing::add_outside_samples(path, {.kind = "python"});
  };
  const std::vector<Finding> findings =
      findings_of_objects({{.bytes_each = 300}, {.path = "main: seen", .bytes_each = 300}}, grows_outside);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].rule, "grows_objects");
  EXPECT_EQ(findings[1].rule, "grows_objects");
}

TEST(GrowsObjects, ItDoesNotExplainFiles) {
  const auto maps_files = [](const std::string& path) { return testing::add_outside_samples(path, {.kind = "files"}); };
  EXPECT_EQ(findings_of_objects({{.bytes_each = 1000}}, maps_files).size(), 2u);
}

TEST(GrowsObjects, ArraysHaveAFindingOfTheirOwn) {
  const auto keeps_arrays = [](const std::string& path) {
    return testing::add_outside_samples(path, {.arrays = true});
  };
  for (const char* path : {"main: rows", "main: rows[*].more"}) {
    const std::vector<Finding> findings = findings_of_objects({{.path = path, .bytes_each = 1000}}, keeps_arrays);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].rule, "grows_outside");
  }
}

}  // namespace
}  // namespace dcmt::analyzer
