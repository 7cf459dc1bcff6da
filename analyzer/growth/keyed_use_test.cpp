#include "analyzer/growth/keyed_use.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

struct KeptAs {
  std::int64_t line;
  std::string path;    ///< empty: it was not read
  std::int64_t until;  ///< 0: to the end
};

const std::string kState = "main: opt.state", kParameter = kState + ".key(<Parameter>)",
                  kAverage = kState + "[<Parameter>]['exp_avg']";

/// Until when each is of use then.
std::vector<std::int64_t> until(const std::vector<KeptAs>& kept) {
  TestTrace trace;
  Growth growth;
  for (const KeptAs& each : kept) {
    trace.stack = {{"train.py", "main", each.line}};
    const auto made = trace.allocate(100);
    if (!each.path.empty()) trace.held(made, {.path = each.path});
    growth.storages.push_back({trace.storage_id(made), Bytes(100), Sequence(each.until), each.until != 0, false});
  }
  const TraceData data = trace.load();
  need_as_long_as_keys(data, growth);
  std::vector<std::int64_t> all;
  for (const GrowingStorage& each : growth.storages) {
    all.push_back(each.needed_until.value);
    EXPECT_EQ(each.frees, each.needed_until.valid());
  }
  return all;
}

using Untils = std::vector<std::int64_t>;

TEST(KeyedUse, AStateIsOfUseAsLongAsItsParameter) {
  EXPECT_EQ(until({{1, kParameter, 500}, {2, kAverage, 100}, {1, kParameter, 900}, {2, kAverage, 600}}),
            (Untils{500, 500, 900, 900}));
  EXPECT_EQ(until({{1, kParameter, 500}, {2, kAverage, 700}}), (Untils{500, 700})) << "or longer";
  EXPECT_EQ(until({{1, kParameter, 0}, {2, kAverage, 100}}), (Untils{0, 0}));
}

TEST(KeyedUse, WhatWasNotReadIsAsOthersOfItsPlace) {
  EXPECT_EQ(until({{1, kParameter, 500}, {2, kAverage, 100}, {1, "", 900}, {2, "", 600}}),
            (Untils{500, 500, 900, 900}));
}

TEST(KeyedUse, NothingIsSaidOfGradientsAndOfKeysThatDoNotGrow) {
  EXPECT_EQ(until({{1, kParameter, 500}, {2, kParameter + ".grad", 100}}), (Untils{500, 100}));
  EXPECT_EQ(until({{2, kAverage, 100}, {2, kAverage, 200}}), (Untils{100, 200}));
  EXPECT_EQ(until({{1, "main: rows[0]", 500}, {2, kAverage, 100}}), (Untils{500, 100}));
}

}  // namespace
}  // namespace dcmt::analyzer
