#include "analyzer/storages/holder_names.h"

#include <gtest/gtest.h>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// What is said of a storage that no scan found, where of 20 that one found at its place so many are in a list and the
/// others are what a variable has.
std::string name_where(int in_list) {
  TestTrace trace;
  trace.stack = {{"train.py", "main", 21}};
  for (int i = 0; i < 20; ++i) {
    const auto storage = trace.allocate(100);
    if (i < in_list) {
      trace.held(storage, {.containers = {"main: seen"}, .path = "main: seen[0]"});
    } else {
      trace.held(storage, {.path = "main: batch", .otherwise = true});
    }
  }
  trace.allocate(100);
  const TraceData data = trace.load();
  return HolderNames(data).of(StorageId(21));
}

TEST(HolderNamesOfStorages, OneThatWasNotFoundIsHeldLikeNearlyAllOfItsPlace) {
  EXPECT_EQ(name_where(20), "main: seen, as others made there");
  EXPECT_EQ(name_where(19), "main: seen, as others made there") << "the latest is a variable's, and not in the list yet";
  EXPECT_EQ(name_where(17), "not read");
  EXPECT_EQ(name_where(10), "not read");
}

}  // namespace
}  // namespace dcmt::analyzer
