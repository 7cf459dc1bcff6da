#include <gtest/gtest.h>

#include "analyzer/testing/findings_of_steps.h"
#include "analyzer/testing/native_samples.h"
#include "analyzer/testing/object_samples.h"

namespace dcmt::analyzer {
namespace {

using testing::NativeSamples;

std::vector<Finding> findings_of_native(const std::vector<NativeSamples>& sites,
                                        const std::function<Status(const std::string&)>& more = {}) {
  return testing::findings_of_steps(60, [&](const std::string& path) -> Status {
    for (const NativeSamples& each : sites) DCMT_RETURN_IF_ERROR(testing::add_native_samples(path, each));
    return more ? more(path) : Status();
  });
}

TEST(GrowsNative, APlaceIsNamedWithItsBytesAndTheirInterval) {
  const std::vector<Finding> findings = findings_of_native({{}});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "grows_native");
  EXPECT_EQ(findings[0].bytes.value, 12'000'000);
  ASSERT_TRUE(findings[0].native);
  const NativeGrowth& growth = *findings[0].native;
  EXPECT_EQ(growth.place.function, "keep_record");
  EXPECT_EQ(growth.place.object, "/lib/libcache.so");
  EXPECT_EQ(growth.place.source, "cache.c:12");
  EXPECT_EQ(growth.place.python, "train.py:8 serve");
  EXPECT_EQ(growth.unit, "step");
  EXPECT_EQ(growth.per_round.value, 200'000);
  EXPECT_NEAR(static_cast<double>(growth.live.low.value), 12'000'000 - 1.96 * 100'000, 5'000);
  EXPECT_NEAR(static_cast<double>(growth.live.high.value), 12'000'000 + 1.96 * 100'000, 5'000);
}

TEST(GrowsNative, SitesOfOnePlaceCountTogether) {
  const std::vector<Finding> findings = findings_of_native({{}, {.site = 2}});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].bytes.value, 24'000'000);
  EXPECT_EQ(findings_of_native({{}, {.site = 2, .function = "keep_row()"}}).size(), 2u);
}

TEST(GrowsNative, WhatIsBoundedDoesNotGrow) {
  const auto stops = [](std::int64_t step) { return std::min<std::int64_t>(step, 30) * 400'000; };
  const auto is_emptied = [](std::int64_t step) { return step % 10 * 4'000'000; };
  const auto stays = [](std::int64_t) -> std::int64_t { return 50'000'000; };
  const auto little = [](std::int64_t step) { return step * 20'000; };
  for (const auto& bytes : {+stops, +is_emptied, +stays, +little}) {
    EXPECT_TRUE(findings_of_native({{.bytes = bytes}}).empty());
  }
}

TEST(GrowsNative, WhatAFunctionHadUntilTheProgramEndedGrows) {
  const auto until_the_end = [](std::int64_t step) { return step < 60 ? step * 200'000 : 0; };
  EXPECT_TRUE(findings_of_native({{.bytes = until_the_end}}).empty()) << "it was freed";
  const auto ends = [](const std::string& path) {
    return testing::add_object_samples(path, {.entries = [](std::int64_t) { return std::int64_t{1}; }, .ended = true});
  };
  EXPECT_EQ(findings_of_native({{.bytes = until_the_end}}, ends).size(), 1u);
}

TEST(GrowsNative, WhatIsEmptiedBetweenTheReadingsDoesNotGrow) {
  const auto seen = [](std::int64_t step) { return 3'000 * step * step; };
  const auto emptied = [&](std::int64_t step) { return step % 8 == 0 ? 0 : seen(step - 1); };
  EXPECT_TRUE(findings_of_native({{.bytes = seen, .least = emptied}}).empty());
  EXPECT_EQ(findings_of_native({{.bytes = seen, .least = [&](std::int64_t step) { return seen(step - 1); }}}).size(),
            1u);
  // Two sites of one place: it is empty where both are.
  const auto at_other_steps = [&](std::int64_t step) { return step % 8 == 4 ? 0 : seen(step - 1); };
  const auto found = [&](const auto& least) {
    return findings_of_native({{.bytes = seen, .least = emptied}, {.site = 2, .bytes = seen, .least = least}}).size();
  };
  EXPECT_EQ(found(emptied), 0u);
  EXPECT_EQ(found(at_other_steps), 1u);
}

TEST(GrowsNative, WhatTheErrorMayExplainIsNoGrowth) {
  EXPECT_TRUE(findings_of_native({{.deviation = 6'500'000}}).empty());
  EXPECT_EQ(findings_of_native({{.deviation = 3'000'000}}).size(), 1u);
}

TEST(GrowsNative, LostRecordsMayHaveBeenEnds) {
  const auto lose = [](const char* count) {
    return [count](const std::string& path) -> Status {
      DCMT_ASSIGN_OR_RETURN(Database database, Database::open(path, OpenMode::kReadWrite));
      return database.execute(("INSERT INTO loss(id, reason, count, from_seq, to_seq, ns) VALUES(77, 'no_room', " +
                               std::string(count) + ", 1, 2, 1)")
                                  .c_str());
    };
  };
  EXPECT_EQ(findings_of_native({{}}, lose("100")).size(), 1u);
  EXPECT_TRUE(findings_of_native({{}}, lose("1000")).empty());
}

TEST(GrowsNative, WhatAnotherFindingHoldsIsNotSaidTwice) {
  const auto add_list = [](const std::string& path) { return testing::add_object_samples(path, {}); };
  const std::vector<Finding> of_python =
      findings_of_native({{.object = "/usr/bin/python3.11", .function = "list_resize"}}, add_list);
  ASSERT_EQ(of_python.size(), 1u);
  EXPECT_EQ(of_python[0].rule, "grows_objects");
  EXPECT_EQ(findings_of_native({{}}, add_list).size(), 2u) << "an extension's memory is not the list's";
  EXPECT_EQ(findings_of_native({{.object = "/usr/bin/python3.11"}}).size(), 1u);
}

TEST(NativeEstimate, OfFewSamplesHasTheLimitsOfAPoissonNumber) {
  // Of 4 and of 100 equal weights; the exact limits of a Poisson number are 1.09 and 10.24, 81.4 and 121.6.
  const NativeEstimate few = native_estimate(4'000, 4 * 1e6, 4), many = native_estimate(100'000, 100 * 1e6, 100);
  EXPECT_NEAR(static_cast<double>(few.low.value), 1'090, 20);
  EXPECT_NEAR(static_cast<double>(few.high.value), 10'240, 50);
  EXPECT_NEAR(static_cast<double>(many.low.value), 81'360, 100);
  EXPECT_NEAR(static_cast<double>(many.high.value), 121'600, 100);
  const NativeEstimate sure = native_estimate(4'000, 0, 4);
  EXPECT_EQ(sure.low, sure.high);
}

}  // namespace
}  // namespace dcmt::analyzer
